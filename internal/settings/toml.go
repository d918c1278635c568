package settings

import (
	"errors"
	"fmt"

	"github.com/BurntSushi/toml"

	"github.com/attractor-go/attractor/internal/texts"
)

// tomlMembers returns the members of a TOML file by their names, with those of their tables and
// dots in front.
func tomlMembers(data []byte) (map[string]any, error) {
	if line, err := texts.CheckTOML(string(data)); err != nil {
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	var root map[string]any
	_, err := toml.Decode(string(data), &root)
	if wrong := (toml.ParseError{}); errors.As(err, &wrong) {
		return nil, fmt.Errorf("line %d: %s", wrong.Position.Line, wrong.Message)
	}
	all := map[string]any{}
	flatten(all, "", root)
	return all, err
}
