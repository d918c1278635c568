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

// PinStore remembers what servers have said about themselves and their tools: hashes of definitions
// by tool, and the definitions. Servers ask it one at a time for each server.
type PinStore interface {
	// Load returns what Save has kept of a server. Of a server that it does not know there is
	// nothing.
	Load(server string) (map[string]string, error)
	// Save replaces it.
	Save(server string, pins map[string]string) error
}

// ChangedError says that a server describes itself or its tools otherwise than it did when they
// were last used.
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
	return fmt.Sprintf("the MCP server %s describes its tools otherwise than before: %s; look at them before you "+
		"allow its calls", e.Server, strings.Join(what, ", "))
}

// hashOf returns the hash of a definition and of whether calls of the tool only read.
func hashOf(def llm.ToolDefinition, reads bool) string {
	parts := []string{def.Name, def.Description, string(def.Parameters)}
	if reads {
		parts = append(parts, "only reads")
	}
	h := sha256.New()
	for _, part := range parts {
		_ = json.NewEncoder(h).Encode(part) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil))
}

// hashOfText returns the hash of a server's instructions.
func hashOfText(instructions string) string {
	return hashOf(llm.ToolDefinition{Description: instructions}, false)
}

// The names under which a store keeps other things than the hashes of tools. No tool has them.
const (
	pinInstructions = "\x00instructions"
	pinDefinitions  = "\x00definitions"
	pinChanged      = "\x00changed\x00" // before the name of a tool that has changed, until Accept
	pinForgotten    = "\x00forgotten"   // there were too many tools to remember all, so new ones may be changed ones
)

// pinned compares the instructions and the tools with those that are remembered, tells the host of
// differences and remembers the new ones.
func (s *server) pinned(said definitions, list []offered) {
	changed := &ChangedError{Server: s.Name}
	s.pins(func(known map[string]string) map[string]string {
		now := map[string]string{pinInstructions: hashOfText(said.Instructions), pinDefinitions: string(encoded(said))}
		if was, ok := known[pinInstructions]; ok && was != now[pinInstructions] {
			changed.Instructions = cmp.Or(said.Instructions, "(none)")
		}
		for _, one := range list {
			if was, ok := known[one.name]; ok && was != one.hash || !ok && known[pinForgotten] != "" {
				changed.Tools = append(changed.Tools, one.tool.ToolDefinition)
				now[pinChanged+one.name] = one.hash
			}
			now[one.name] = one.hash
		}
		keep(now, known)
		return now
	})
	if len(changed.Tools) > 0 || changed.Instructions != "" {
		s.owner.warn(s.Name, changed)
	}
}

// pins replaces what is remembered of the server by what edit makes of it, and notes which tools
// have changed.
func (s *server) pins(edit func(known map[string]string) map[string]string) {
	if s.owner.o.Pins == nil {
		return
	}
	s.pinning.Lock()
	defer s.pinning.Unlock()
	err := guard.Run("Options.Pins", func() error {
		known, err := s.owner.o.Pins.Load(s.Name)
		if err != nil {
			return err
		}
		now := edit(known)
		s.mu.Lock()
		s.changed = map[string]string{}
		for name, hash := range now {
			if name, ok := strings.CutPrefix(name, pinChanged); ok {
				s.changed[name] = hash
			}
		}
		s.mu.Unlock()
		if maps.Equal(now, known) {
			return nil
		}
		return s.owner.o.Pins.Save(s.Name, now)
	})
	if err != nil {
		s.owner.warn(s.Name, fmt.Errorf(
			"the definitions of the MCP server %s could not be compared with earlier ones: %w", s.Name, err))
	}
}

// Changed returns the hash of a tool whose definition has changed and was not accepted yet, and ""
// for any other tool. The name is the one that the tool has in sessions. It needs Options.Pins.
func (s *Servers) Changed(name string) (hash string) {
	one, original := s.origin(name)
	if one == nil {
		return ""
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.changed[original]
}

// Accept remembers that a person has accepted a tool as it was when [Servers.Changed] returned a
// hash. If it has changed once more, nothing is accepted.
func (s *Servers) Accept(name, hash string) {
	if one, original := s.origin(name); one != nil && hash != "" {
		one.pins(func(known map[string]string) map[string]string {
			now := maps.Clone(known)
			if now[pinChanged+original] == hash {
				delete(now, pinChanged+original)
			}
			return now
		})
	}
}

// origin returns the server of a tool, and the tool's name there. The server is nil for any other
// tool.
func (s *Servers) origin(name string) (one *server, original string) {
	for _, one := range s.list {
		one.mu.Lock()
		list := one.offered // which is replaced as a whole
		one.mu.Unlock()
		if at := slices.IndexFunc(list, func(o offered) bool { return o.tool.Name == name }); at >= 0 {
			return one, list[at].name
		}
	}
	return nil, ""
}

// keep adds the hashes of tools that the server does not list at present. A server that invents
// names does not fill the store, and a tool that was forgotten therefore counts as changed when it
// comes back.
func keep(now, known map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if _, listed := now[name]; listed {
			continue
		}
		if len(now) > 2*maxTools {
			now[pinForgotten] = "some"
			return
		}
		now[name] = known[name]
	}
}
