package mcp

import (
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// masked returns a text of a server without secrets.
func (s *Servers) masked(text string) string {
	if s.o.Mask == nil {
		return text
	}
	return s.o.Mask(text)
}

// withoutSecrets masks what a server says about its tools. A tool with a secret in its name, or in
// that of a parameter, is left out, because the server would not know it by another one.
func (s *server) withoutSecrets(found []*sdk.Tool) (kept []*sdk.Tool) {
	if s.owner.o.Mask == nil {
		return found
	}
	var problems []error
	for _, t := range found {
		mask := masking{s.owner.masked, s.owner.masked(t.Name) != t.Name}
		t.Title, t.Description = mask.text(t.Title), mask.text(t.Description)
		t.InputSchema = mask.value(t.InputSchema)
		if mask.named {
			name := clean(s.owner.masked(t.Name), 100)
			problems = append(problems, fmt.Errorf(
				"the tool %s of the MCP server %s is left out: its name, or that of a parameter, has a secret", name,
				s.Name))
			continue
		}
		kept = append(kept, t)
	}
	s.tell(errors.Join(problems...))
	return kept
}

// masking masks the definition of a tool.
type masking struct {
	text  func(string) string
	named bool // a name has a secret
}

// value returns a value that was decoded from JSON with its strings masked, and notes whether a
// name has a secret.
func (m *masking) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.text(v)
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case map[string]any:
		for name := range v {
			m.named = m.named || m.text(name) != name
			v[name] = m.value(v[name])
		}
	}
	return v
}
