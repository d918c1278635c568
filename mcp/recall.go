package mcp

import (
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/internal/guard"
)

// definitions is what a PinStore keeps of what a server has said about itself and its tools.
type definitions struct {
	Instructions string      `json:"instructions,omitempty"`
	Tools        []*sdk.Tool `json:"tools"`
	Resources    bool        `json:"resources,omitempty"` // it has resources
}

// recall offers the tools that the server had when it was last used, until it has listed them: if
// they are the same, a session has them from its first request on. Nothing is offered unless all is
// as it is pinned, and accepted.
func (s *server) recall() {
	if s.owner.o.Pins == nil || s.Check() != nil {
		return
	}
	var kept definitions
	var known map[string]string
	err := guard.Run("Options.Pins", func() (err error) {
		if known, err = s.owner.o.Pins.Load(s.Name); err != nil || known[pinDefinitions] == "" {
			return err
		}
		return json.Unmarshal([]byte(known[pinDefinitions]), &kept)
	})
	if err != nil {
		s.owner.warn(s.Name, fmt.Errorf("the tools that the MCP server %s had when it was last used are not known: %w",
			s.Name, err))
	}
	if err != nil || len(kept.Tools) == 0 && !kept.Resources { // a server without tools may have some now
		return
	}
	used := slices.DeleteFunc(kept.Tools, func(t *sdk.Tool) bool { return t == nil || !s.uses(t.Name) })
	list, instructions := s.offer(s.withoutSecrets(used)), s.owner.masked(kept.Instructions)
	if known[pinInstructions] != hashOfText(instructions) {
		return
	}
	for _, one := range list {
		if known[one.name] != one.hash || known[pinChanged+one.name] != "" {
			return
		}
	}
	s.guide(list, instructions)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered, s.resourceful, s.recalled = list, kept.Resources, true
}

// forget takes back what recall has offered, because the server could not be started.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listed {
		s.offered, s.resourceful, s.recalled = nil, false, false
	}
}
