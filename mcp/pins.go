package mcp

import (
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

// ChangedError says that a server describes tools otherwise than it did when they were last used.
type ChangedError struct {
	Server string
	Tools  []llm.ToolDefinition // as they are now
}

// Error names the tools.
func (e *ChangedError) Error() string {
	names := make([]string, len(e.Tools))
	for i := range e.Tools {
		names[i] = e.Tools[i].Name
	}
	return fmt.Sprintf("the MCP server %s describes tools otherwise than before: %s; look at them before you allow their calls", e.Server, strings.Join(names, ", "))
}

// hashOf returns the hash of a definition.
func hashOf(def llm.ToolDefinition) string {
	h := sha256.New()
	for _, part := range []string{def.Name, def.Description, string(def.Parameters)} {
		_ = json.NewEncoder(h).Encode(part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// pinned compares the tools with those that are remembered, tells the host of differences and remembers the new ones.
func (s *server) pinned(list []offered) {
	if s.owner.o.Pins == nil {
		return
	}
	err := guard.Run("Options.Pins", func() error {
		known, err := s.owner.o.Pins.Load(s.Name)
		if err != nil {
			return err
		}
		now := maps.Clone(known)
		if now == nil {
			now = map[string]string{}
		}
		changed := &ChangedError{Server: s.Name}
		for _, one := range list {
			if was, ok := known[one.name]; ok && was != one.hash {
				changed.Tools = append(changed.Tools, one.tool.ToolDefinition)
			}
			now[one.name] = one.hash
		}
		if len(changed.Tools) > 0 {
			s.owner.warn(s.Name, changed)
		}
		if maps.Equal(now, known) {
			return nil
		}
		if len(now) > 2*maxTools { // a server that invents names does not fill the store
			names := slices.Sorted(maps.Keys(now))
			for _, name := range names[2*maxTools:] {
				delete(now, name)
			}
		}
		return s.owner.o.Pins.Save(s.Name, now)
	})
	if err != nil {
		s.owner.warn(s.Name, fmt.Errorf("the definitions of the MCP server %s could not be compared with earlier ones: %w", s.Name, err))
	}
}
