package openaichat

import (
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// encode returns the body of a request, in pieces: the head, the messages, and what may differ
// between requests, in this order, so that a conversation's requests begin with the same bytes. The
// messages belong to the memo and are not copied.
func (p *Provider) encode(req *llm.Request) ([][]byte, error) {
	req = api.DropHosted(req, false)
	params, err := p.encodeParams(req)
	if err != nil {
		return nil, err
	}
	tools, err := api.Tools(api.Offered(req.Tools), appendTool)
	if err != nil {
		return nil, err
	}
	o := p.encoding(req)
	c, err := api.Encoded(req, fmt.Sprintf("%+v", o), func() *conversation {
		return &conversation{o: o, ids: map[string]string{}}
	}, (*conversation).add)
	if err != nil {
		return nil, err
	}
	return c.body(req.Model, tools, params), nil
}

// encoding holds everything that the encoding of messages depends on.
type encoding struct {
	provider                   string
	developerRole, noReasoning bool
	callIDLength               int
	alternates, reasons        bool // the quirks of the server
}

// quirks returns the demands that a request meets.
func (p *Provider) quirks(req *llm.Request) []llm.Quirk {
	quirks := slices.Concat(p.o.Quirks, req.Quirks)
	if req.Facts != nil {
		quirks = append(quirks, req.Facts.Quirks...)
	}
	return quirks
}

func (p *Provider) encoding(req *llm.Request) encoding {
	quirks := p.quirks(req)
	return encoding{provider: p.o.Name, developerRole: p.o.DeveloperRole, noReasoning: p.o.NoReasoning,
		callIDLength: p.o.CallIDLength, alternates: slices.Contains(quirks, llm.QuirkAlternates),
		reasons: slices.Contains(quirks, llm.QuirkReasoning)}
}

// body returns the pieces of a request's body.
func (c *conversation) body(model string, tools, params []byte) [][]byte {
	head := api.AppendString([]byte(`{"model":`), model)
	end := `]`
	if c.inSystem {
		end = `"}]`
	}
	tail := append(append([]byte(end), params...), '}')
	if len(tools) > 0 {
		head = append(append(append(head, `,"tools":[`...), tools...), ']')
	}
	return [][]byte{append(head, `,"messages":[`...), c.messages, tail}
}

func appendTool(b []byte, def *llm.ToolDefinition) ([]byte, error) {
	none := `{"type":"object","properties":{}}`
	if isFree(def) {
		none = `{"type":"object","properties":{"` + freeParameter + `":{"type":"string","description":"` +
			`The whole input of the tool, as plain text."}},"required":["` + freeParameter + `"]}`
	}
	schema, err := api.Parameters(def, none)
	b = api.AppendTool(b, `{"type":"function","function":{"name":`, def)
	return append(append(append(b, `,"parameters":`...), schema...), `}}`...), err
}
