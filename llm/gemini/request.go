package gemini

import (
	"slices"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// encode returns the body of a request, in pieces: the head, the contents, and what may differ
// between requests, in this order, so that a conversation's requests begin with the same bytes. The
// contents belong to the memo and are not copied.
func (p *Provider) encode(req *llm.Request) ([][]byte, error) {
	o, err := parseOptions(p.body, req.Options[p.Name()])
	if err != nil {
		return nil, err
	}
	model := familyOf(req.Model)
	// models before Gemini 3 refuse it beside functions, and the choice of none is about functions
	// alone
	req = api.DropHosted(req, !p.noWebSearch && model != gemini2 && req.ToolChoice.Mode != llm.ToolNone)
	params, err := encodeParams(req, o)
	if err != nil {
		return nil, err
	}
	tools, err := encodeTools(api.Offered(req.Tools))
	if err != nil {
		return nil, err
	}
	searches := api.SearchesWeb(req)
	key := p.Name() + "\x00" + string('0'+rune(model)) // what a conversation's encoding depends on
	if searches {
		key += "\x00search"
	}
	c, err := api.Encoded(req, key, func() *conversation {
		return &conversation{provider: p.Name(), model: model, searches: searches, names: map[string]string{}}
	}, (*conversation).add)
	if err != nil {
		return nil, err
	}
	return c.body(tools, params, o.cached), nil
}

// body returns the pieces of a request's body. It omits the system prompt and the tools if the
// caller refers to cached content: "CachedContent can not be used with GenerateContent request
// setting system_instruction, tools or tool_config".
func (c *conversation) body(tools, params []byte, cached bool) [][]byte {
	var list [][]byte
	add := func(b []byte) {
		if len(b) > 0 {
			list = append(list, b[:len(b):len(b)])
		}
	}
	add([]byte(`{`))
	if len(c.system) > 0 && !cached {
		add([]byte(`"systemInstruction":{"parts":[`))
		add(c.system)
		add([]byte(`]},`))
	}
	if len(tools) > 0 && !cached {
		add([]byte(`"tools":[`))
		add(tools)
		add([]byte(`],`))
	}
	add([]byte(`"contents":[`))
	add(c.contents)
	if c.role != "" {
		add([]byte(`]}`))
	}
	add([]byte(`]`))
	add(params)
	add([]byte(`}`))
	return list
}

// encodeTools encodes the functions as one tool, and a web search as another.
func encodeTools(tools []llm.ToolDefinition) ([]byte, error) {
	hosted := func(t llm.ToolDefinition) bool { return t.Hosted != "" }
	functions := slices.DeleteFunc(slices.Clone(tools), hosted)
	b, err := api.Tools(functions, appendTool)
	if err != nil {
		return nil, err
	}
	if len(b) > 0 {
		b = slices.Concat([]byte(`{"functionDeclarations":[`), b, []byte(`]}`))
	}
	if slices.ContainsFunc(tools, hosted) {
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"googleSearch":{}}`...)
	}
	return b, nil
}

func appendTool(b []byte, def *llm.ToolDefinition) ([]byte, error) {
	schema, err := api.Parameters(def, "")
	b = api.AppendTool(b, `{"name":`, def)
	if schema != "" { // a function without parameters needs none
		b = append(append(b, `,"parametersJsonSchema":`...), schema...)
	}
	return append(b, '}'), err
}
