package anthropic

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// unknownMaxTokens is the output limit sent for models of which nothing is known; the API demands one.
const unknownMaxTokens = 4096

// options are what a request asks for beyond what llm.Request knows.
type options struct {
	betas  []string
	params map[string]json.RawMessage
}

func parseOptions(raw json.RawMessage) (options, error) {
	if len(raw) == 0 {
		return options{}, nil
	}
	var o options
	if err := json.Unmarshal(raw, &o.params); err != nil {
		return options{}, llm.Errorf(llm.ErrConfiguration, "provider options: %v", err)
	}
	if betas, ok := o.params["beta_headers"]; ok {
		if err := json.Unmarshal(betas, &o.betas); err != nil {
			return options{}, llm.Errorf(llm.ErrConfiguration, "provider option beta_headers: %v", err)
		}
		delete(o.params, "beta_headers")
	}
	for _, name := range []string{"model", "system", "tools", "messages", "stream"} {
		if _, ok := o.params[name]; ok {
			return options{}, llm.Errorf(llm.ErrConfiguration, "provider option %q: the request itself says it", name)
		}
	}
	return o, nil
}

// params gathers a request's parameters; the caller's own go before ours.
type params struct {
	b    []byte
	over map[string]json.RawMessage
}

// put writes a parameter, value by value, unless the caller has given it.
func (p *params) put(name string, value ...string) {
	if _, ok := p.over[name]; ok {
		return
	}
	p.b = append(append(append(p.b, `,"`...), name...), `":`...)
	for _, v := range value {
		p.b = append(p.b, v...)
	}
}

// appendParams writes everything of a request that may differ from call to call, each parameter with a comma before it.
func appendParams(b []byte, req *llm.Request, o options) ([]byte, error) {
	p := params{b: b, over: o.params}
	t, err := think(req)
	if err != nil {
		return nil, err
	}
	p.put("max_tokens", strconv.Itoa(t.maxTokens))
	switch {
	case t.adaptive:
		p.put("thinking", `{"type":"adaptive"}`)
	case t.budget > 0:
		p.put("thinking", `{"type":"enabled","budget_tokens":`, strconv.Itoa(t.budget), `}`)
	}
	if err := p.output(req, t); err != nil {
		return nil, err
	}
	for _, f := range []*float64{req.Temperature, req.TopP} {
		if f != nil && (math.IsNaN(*f) || math.IsInf(*f, 0)) {
			return nil, llm.Errorf(llm.ErrInvalidRequest, "temperature or top_p is no number")
		}
	}
	thinking := t.adaptive || t.budget > 0
	if req.Temperature != nil && !thinking { // "temperature may only be set to 1 when thinking is enabled"
		p.put("temperature", number(*req.Temperature))
	}
	if req.TopP != nil && (!thinking || *req.TopP >= 0.95) { // the same, from 0.95 on
		p.put("top_p", number(*req.TopP))
	}
	if len(req.Stop) > 0 {
		p.put("stop_sequences", quoted(req.Stop))
	}
	p.toolChoice(req)
	p.put("stream", "true")
	for _, name := range slices.Sorted(maps.Keys(o.params)) {
		p.b = append(api.AppendString(append(p.b, ','), name), ':')
		p.b = append(p.b, o.params[name]...)
	}
	return p.b, nil
}

func (p *params) output(req *llm.Request, t thinking) error {
	var effort, format string
	if t.effort != "" {
		effort = `"effort":` + string(api.AppendString(nil, t.effort))
	}
	if req.Format != nil {
		if !json.Valid(req.Format.Schema) {
			return llm.Errorf(llm.ErrInvalidRequest, "the format's schema is no JSON")
		}
		format = `"format":{"type":"json_schema","schema":` + string(req.Format.Schema) + `}`
	}
	switch {
	case effort != "" && format != "":
		p.put("output_config", `{`, effort, `,`, format, `}`)
	case effort != "" || format != "":
		p.put("output_config", `{`, effort, format, `}`)
	}
	return nil
}

func (p *params) toolChoice(req *llm.Request) {
	if len(req.Tools) == 0 {
		return // without tools the API knows no choice, not even none
	}
	sequential := ""
	if req.Sequential {
		sequential = `,"disable_parallel_tool_use":true`
	}
	switch req.ToolChoice.Mode {
	case llm.ToolNone:
		p.put("tool_choice", `{"type":"none"}`)
	case llm.ToolRequired:
		p.put("tool_choice", `{"type":"any"`, sequential, `}`)
	case llm.ToolNamed:
		p.put("tool_choice", `{"type":"tool","name":`, string(api.AppendString(nil, req.ToolChoice.Name)), sequential, `}`)
	case llm.ToolAuto, "":
		if req.Sequential {
			p.put("tool_choice", `{"type":"auto"`, sequential, `}`)
		}
	}
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func quoted(list []string) string {
	b := []byte{'['}
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = api.AppendString(b, s)
	}
	return string(append(b, ']'))
}
