package anthropic

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// unknownMaxTokens is the output limit for unknown models, because the API requires one.
const unknownMaxTokens = 4096

// options holds a request's options for this provider.
type options struct {
	betas []string
	own   map[string]json.RawMessage // parameters
}

func parseOptions(body, raw json.RawMessage) (options, error) {
	own, err := api.ParseOptions(body, raw, "model", "system", "tools", "messages", "stream")
	if err != nil {
		return options{}, err
	}
	o := options{own: own}
	if betas, ok := own["beta_headers"]; ok {
		if err := json.Unmarshal(betas, &o.betas); err != nil {
			return options{}, llm.Errorf(llm.ErrConfiguration, "provider option beta_headers: %v", err)
		}
		delete(own, "beta_headers")
	}
	return o, nil
}

// params collects a request's parameters.
type params struct{ api.Params }

// encodeParams writes all of a request that may differ between requests, each parameter with a
// comma before it.
func encodeParams(req *llm.Request, o options) ([]byte, error) {
	p := params{api.Params{Own: o.own}}
	t, err := think(req)
	if err != nil {
		return nil, err
	}
	p.Put("max_tokens", strconv.Itoa(t.maxTokens))
	switch {
	case t.adaptive:
		p.Put("thinking", `{"type":"adaptive"}`)
	case t.budget > 0:
		p.Put("thinking", `{"type":"enabled","budget_tokens":`, strconv.Itoa(t.budget), `}`)
	}
	p.output(req, t)
	thinking := t.adaptive || t.budget > 0
	if !thinking { // "may only be set to 1 when thinking is enabled"
		p.Float("temperature", req.Temperature)
	}
	if !thinking || req.TopP != nil && *req.TopP >= 0.95 {
		p.Float("top_p", req.TopP)
	}
	if len(req.Stop) > 0 {
		p.Put("stop_sequences", api.Strings(req.Stop))
	}
	p.toolChoice(req)
	p.Put("stream", "true")
	return p.Bytes()
}

func (p *params) output(req *llm.Request, t thinking) {
	var members []string
	if t.effort != "" {
		members = append(members, `"effort":`+api.Quote(t.effort))
	}
	if req.Format != nil {
		members = append(members, `"format":{"type":"json_schema","schema":`+p.Schema(req.Format)+`}`)
	}
	if len(members) > 0 {
		p.Put("output_config", `{`, strings.Join(members, ","), `}`)
	}
}

func (p *params) toolChoice(req *llm.Request) {
	if len(api.Offered(req.Tools)) == 0 {
		return // without tools the API accepts no choice, not even none
	}
	sequential := ""
	if req.Sequential {
		sequential = `,"disable_parallel_tool_use":true`
	}
	switch req.ToolChoice.Mode {
	case llm.ToolNone:
		p.Put("tool_choice", `{"type":"none"}`)
	case llm.ToolRequired:
		p.Put("tool_choice", `{"type":"any"`, sequential, `}`)
	case llm.ToolNamed:
		p.Put("tool_choice", `{"type":"tool","name":`, api.Quote(req.ToolChoice.Name), sequential, `}`)
	case llm.ToolAuto, "":
		if req.Sequential {
			p.Put("tool_choice", `{"type":"auto"`, sequential, `}`)
		}
	}
}
