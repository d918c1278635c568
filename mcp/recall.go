package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/guard"
)

// DefinitionStore keeps what servers have said about themselves and their tools. Servers ask it one
// at a time for each server.
type DefinitionStore interface {
	// Load returns what Save has kept of a server. A server that it does not know has none.
	Load(server string) ([]byte, error)
	// Save replaces it.
	Save(server string, definitions []byte) error
}

// definitions is what a DefinitionStore keeps of a server.
type definitions struct {
	Instructions string      `json:"instructions,omitempty"`
	Tools        []*sdk.Tool `json:"tools"`
	Resources    bool        `json:"resources,omitempty"` // it has resources
}

// recall offers the tools that the server had when it was last used, until it has listed them: if
// they are the same, a session has them from its first request on. Nothing is offered unless all is
// as it is pinned, and accepted.
func (s *server) recall() {
	if s.owner.o.Definitions == nil || s.owner.o.Pins == nil || s.Check() != nil {
		return
	}
	var kept definitions
	var known map[string]string
	err := guard.Run("Options.Definitions and Options.Pins", func() (err error) {
		if s.kept, err = s.owner.o.Definitions.Load(s.Name); err != nil || len(s.kept) == 0 {
			return err
		}
		if err = json.Unmarshal(s.kept, &kept); err != nil {
			return err
		}
		known, err = s.owner.o.Pins.Load(s.Name)
		return err
	})
	if err != nil {
		s.owner.warn(s.Name, fmt.Errorf("the tools that the MCP server %s had when it was last used are not known: %w", s.Name, err))
		return
	}
	var found []*sdk.Tool
	for _, t := range kept.Tools {
		if t != nil && s.uses(t.Name) {
			found = append(found, t)
		}
	}
	list := s.offer(found)
	if known[pinInstructions] != hashOfText(kept.Instructions) {
		return
	}
	for _, one := range list {
		if known[one.name] != one.hash || known[pinChanged+one.name] != "" {
			return
		}
	}
	s.guide(list, kept.Instructions)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered, s.resourceful, s.recalled = list, kept.Resources, true
}

// remember keeps what the server says of itself and its tools for the next start.
func (s *server) remember(now definitions) {
	if s.owner.o.Definitions == nil {
		return
	}
	data, err := json.Marshal(now)
	if err == nil && !bytes.Equal(data, s.kept) {
		s.kept = data
		err = guard.Run("Options.Definitions", func() error { return s.owner.o.Definitions.Save(s.Name, data) })
	}
	if err != nil {
		s.owner.warn(s.Name, fmt.Errorf("the tools of the MCP server %s could not be remembered: %w", s.Name, err))
	}
}

// forget takes back what recall has offered, because the server could not be started.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listed {
		s.offered, s.resourceful, s.recalled = nil, false, false
	}
}
