package mcp

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/llm"
)

// PinStore remembers the hashes of definitions by server and tool. Servers ask it one at a time for each server.
type PinStore interface {
	// Load returns the hashes of a server's definitions by tool. A server that it does not know has none.
	Load(server string) (map[string]string, error)
	// Save replaces them.
	Save(server string, hashes map[string]string) error
}

// ChangedError says that a server describes itself or its tools otherwise than it did when they were last used.
type ChangedError struct {
	Server       string
	Tools        []llm.ToolDefinition // as they are now
	Instructions string               // as they are now, if they are others than before
}

// Error names the tools.
func (e *ChangedError) Error() string {
	var what []string
	for i := range e.Tools {
		what = append(what, e.Tools[i].Name)
	}
	if e.Instructions != "" {
		what = append(what, "its instructions")
	}
	return fmt.Sprintf("the MCP server %s describes its tools otherwise than before: %s; look at them before you allow its calls", e.Server, strings.Join(what, ", "))
}

// hashOf returns the hash of a definition.
func hashOf(def llm.ToolDefinition) string {
	h := sha256.New()
	for _, part := range []string{def.Name, def.Description, string(def.Parameters)} {
		_ = json.NewEncoder(h).Encode(part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// pinInstructions is the name under which the hash of a server's instructions is kept. No tool has it.
const pinInstructions = "\x00instructions"

// pinned compares the instructions and the tools with those that are remembered, tells the host of differences and remembers the new ones.
func (s *server) pinned(instructions string, list []offered) {
	if s.owner.o.Pins == nil {
		return
	}
	err := guard.Run("Options.Pins", func() error {
		known, err := s.owner.o.Pins.Load(s.Name)
		if err != nil {
			return err
		}
		now := map[string]string{pinInstructions: hashOf(llm.ToolDefinition{Description: instructions})}
		changed := &ChangedError{Server: s.Name}
		if was, ok := known[pinInstructions]; ok && was != now[pinInstructions] {
			changed.Instructions = cmp.Or(instructions, "(none)")
		}
		for _, one := range list {
			if was, ok := known[one.name]; ok && was != one.hash {
				changed.Tools = append(changed.Tools, one.tool.ToolDefinition)
			}
			now[one.name] = one.hash
		}
		if len(changed.Tools) > 0 || changed.Instructions != "" {
			s.owner.warn(s.Name, changed)
		}
		keep(now, known)
		if maps.Equal(now, known) {
			return nil
		}
		return s.owner.o.Pins.Save(s.Name, now)
	})
	if err != nil {
		s.owner.warn(s.Name, fmt.Errorf("the definitions of the MCP server %s could not be compared with earlier ones: %w", s.Name, err))
	}
}

// keep adds the hashes of tools that the server does not list at present. A server that invents names does not fill the store.
func keep(now, known map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if len(now) > 2*maxTools {
			return
		}
		if _, listed := now[name]; !listed {
			now[name] = known[name]
		}
	}
}
