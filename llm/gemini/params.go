package gemini

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// options holds a request's options for this provider.
type options struct {
	own    map[string]json.RawMessage // parameters
	config map[string]json.RawMessage // members of generationConfig
	cached bool                       // cachedContent is among own
}

func parseOptions(body, raw json.RawMessage) (options, error) {
	own, err := api.ParseOptions(body, raw, "model", "contents", "systemInstruction", "system_instruction", "tools")
	if err != nil {
		return options{}, err
	}
	o := options{own: own}
	if config, ok := own["generationConfig"]; ok {
		if err := json.Unmarshal(config, &o.config); err != nil {
			return options{}, llm.Errorf(llm.ErrConfiguration, "provider option generationConfig: %v", err)
		}
		delete(own, "generationConfig")
	}
	_, o.cached = own["cachedContent"]
	return o, nil
}

// encodeParams writes all of a request that may differ between requests, each parameter with a
// comma before it. It ignores Sequential, because the API has no such option.
func encodeParams(req *llm.Request, o options) ([]byte, error) {
	p := api.Params{Own: o.own}
	if choice := toolConfig(req); choice != "" && !o.cached {
		p.Put("toolConfig", `{`, choice, `}`)
	}
	config, err := generationConfig(req, o)
	if err != nil {
		return nil, err
	}
	if len(config) > 0 {
		p.Put("generationConfig", `{`, string(config[1:]), `}`)
	}
	return p.Bytes()
}

// generationConfig returns the members of that object, each with a comma before it.
func generationConfig(req *llm.Request, o options) ([]byte, error) {
	p := api.Params{Own: o.config}
	t, err := think(req)
	if err != nil {
		return nil, err
	}
	if t.maxTokens > 0 {
		p.Put("maxOutputTokens", strconv.Itoa(t.maxTokens))
	}
	p.Float("temperature", req.Temperature)
	p.Float("topP", req.TopP)
	if len(req.Stop) > 0 {
		p.Put("stopSequences", api.Strings(req.Stop))
	}
	if t.config != "" {
		p.Put("thinkingConfig", t.config)
	}
	if req.Format != nil {
		p.Put("responseMimeType", `"application/json"`)
		p.Put("responseJsonSchema", p.Schema(req.Format))
	}
	return p.Bytes()
}

// toolConfig returns the members of toolConfig, or "" without any. A web search is only run
// beside functions if its parts are requested, which have to come back.
func toolConfig(req *llm.Request) string {
	var members []string
	if choice := toolChoice(req); choice != "" {
		members = append(members, `"functionCallingConfig":`+choice)
	}
	if api.SearchesWeb(req) {
		members = append(members, `"includeServerSideToolInvocations":true`)
	}
	return strings.Join(members, ",")
}

// toolChoice returns the JSON of functionCallingConfig, or "" for the API's default.
func toolChoice(req *llm.Request) string {
	if len(api.Offered(req.Tools)) == 0 {
		return ""
	}
	switch req.ToolChoice.Mode {
	case llm.ToolAuto:
		return `{"mode":"AUTO"}`
	case llm.ToolNone:
		return `{"mode":"NONE"}`
	case llm.ToolRequired:
		return `{"mode":"ANY"}`
	case llm.ToolNamed:
		return `{"mode":"ANY","allowedFunctionNames":[` + api.Quote(req.ToolChoice.Name) + `]}`
	}
	return ""
}
