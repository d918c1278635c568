package openai

import (
	"bytes"
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// encode returns the body of a request, in pieces: the head, the input, and what may differ between
// requests, in this order, so that a conversation's requests begin with the same bytes. The input
// belongs to the memo and is not copied.
func (p *Provider) encode(req *llm.Request) ([][]byte, error) {
	own, err := parseOptions(p.body, req.Options[p.Name()])
	if err != nil {
		return nil, err
	}
	// "cannot be used with reasoning.effort 'minimal'"
	req = api.DropHosted(req, !p.noWebSearch && req.Effort != "minimal")
	params, err := encodeParams(req, own)
	if err != nil {
		return nil, err
	}
	search := searchTool(req)
	tools, err := encodeTools(api.Offered(req.Tools), search)
	if err != nil {
		return nil, err
	}
	c, err := api.Encoded(req, p.Name()+"\x00"+search, func() *conversation {
		return &conversation{provider: p.Name(), begun: p.systemMessage, search: search, outputs: map[string]string{}}
	}, func(c *conversation, messages []llm.Message) error {
		c.known = req.Tools
		return c.add(messages)
	})
	if err != nil {
		return nil, err
	}
	return c.body(req.Model, tools, params), nil
}

// body returns the pieces of a request's body. The instructions and items belong to the memo, which
// grows, so their slices are cut at their present length.
func (c *conversation) body(model string, tools, params []byte) [][]byte {
	head := api.AppendString([]byte(`{"model":`), model)
	list := make([][]byte, 0, 8)
	list = append(list, head)
	if len(c.instructions) > 0 {
		list = append(list, []byte(`,"instructions":`), c.instructions[:len(c.instructions):len(c.instructions)],
			[]byte(`"`))
	}
	if len(tools) > 0 {
		list = append(list, []byte(`,"tools":[`), tools, []byte(`]`))
	}
	tail := append(append([]byte(`]`), params...), '}')
	return append(list, []byte(`,"input":[`), c.items[:len(c.items):len(c.items)], tail)
}

// encodeTools encodes tools. The search is the name of the one that finds others, if the API has a
// form for it.
func encodeTools(tools []llm.ToolDefinition, search string) ([]byte, error) {
	return api.Tools(tools, func(b []byte, def *llm.ToolDefinition) ([]byte, error) {
		if search != "" && def.Name == search {
			return appendSearch(b, def)
		}
		return appendTool(b, def)
	})
}

func appendTool(b []byte, def *llm.ToolDefinition) ([]byte, error) {
	if def.Hosted == llm.HostedWebSearch {
		return append(b, `{"type":"web_search"}`...), nil
	}
	kind := "function"
	if def.Grammar != nil {
		kind = "custom"
	}
	b = api.AppendTool(b, `{"type":"`+kind+`","name":`, def)
	if g := def.Grammar; g != nil {
		b = api.AppendMember(b, `,"format":{"type":"grammar","syntax":`, g.Syntax)
		b = api.AppendMember(b, `,"definition":`, g.Definition)
		return append(b, `}}`...), nil
	}
	b, err := appendParameters(b, def)
	if err != nil {
		return nil, err
	}
	// Strict is the API's default. It would forbid optional parameters and most keywords of JSON
	// Schema.
	b = append(b, `,"strict":false`...)
	if def.Deferred {
		b = append(b, `,"defer_loading":true`...)
	}
	return append(b, '}'), nil
}

func appendParameters(b []byte, def *llm.ToolDefinition) ([]byte, error) {
	schema, ok := objectSchema(def.Parameters)
	if !ok {
		return nil, llm.Errorf(llm.ErrInvalidRequest, "tool %q: its parameters are not a JSON object", def.Name)
	}
	return append(append(b, `,"parameters":`...), schema...), nil
}

// objectSchema adds missing properties to a schema, because the API requires them even if they are
// empty: "object schema missing properties". It returns false for anything but a JSON object.
func objectSchema(schema json.RawMessage) (_ json.RawMessage, ok bool) {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), true
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(schema, &members); err != nil || members == nil {
		return nil, false
	}
	if _, ok := members["properties"]; ok || string(members["type"]) != `"object"` {
		return schema, true
	}
	rest := bytes.TrimLeft(schema, " \t\r\n")[1:] // it has a type, so it is not empty
	return append([]byte(`{"properties":{},`), rest...), true
}
