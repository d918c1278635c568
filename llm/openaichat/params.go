package openaichat

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// parseOptions returns the caller's parameters: those of every request, and those of this one.
func parseOptions(body, raw json.RawMessage) (map[string]json.RawMessage, error) {
	return api.ParseOptions(body, raw, "model", "messages", "tools", "stream")
}

// params collects a request's parameters.
type params struct {
	api.Params
	quirks []llm.Quirk
}

// optional writes a parameter unless the server refuses it.
func (w *params) optional(name string, value ...string) {
	if !slices.Contains(w.quirks, llm.QuirkWithout(name)) {
		w.Put(name, value...)
	}
}

// encodeParams writes all of a request that may differ between requests, each parameter with a
// comma before it. It sends nothing that was not requested, because every member is refused by some
// server.
func (p *Provider) encodeParams(req *llm.Request) ([]byte, error) {
	own, err := parseOptions(p.o.Body, req.Options[p.o.Name])
	if err != nil {
		return nil, err
	}
	w := params{api.Params{Own: own}, p.quirks(req)}
	w.Float("temperature", req.Temperature)
	w.Float("top_p", req.TopP)
	if len(req.Stop) > 0 {
		w.Put("stop", api.Strings(req.Stop))
	}
	if req.MaxTokens > 0 {
		name := "max_tokens"
		if slices.Contains(w.quirks, llm.QuirkCompletionTokens) {
			name = "max_completion_tokens"
		}
		w.Put(name, strconv.Itoa(req.MaxTokens))
	}
	// not sent to models that are known not to reason, or not by efforts
	if f := req.Facts; req.Effort != "" && (f == nil || f.Reasoning && (f.Efforts == nil || len(f.Efforts) > 0)) {
		w.optional("reasoning_effort", api.Quote(req.Effort))
	}
	w.format(req.Format)
	w.toolChoice(req)
	if p.o.PromptCacheKey && req.CacheKey != "" {
		w.optional("prompt_cache_key", api.Quote(req.CacheKey))
	}
	w.Put("stream", "true")
	w.optional("stream_options", `{"include_usage":true}`)
	return w.Bytes()
}

// format requests JSON of a schema. It does not set strict: servers that generate by a schema need
// no such member, and OpenAI accepts it only with schemas of a certain form.
func (w *params) format(f *llm.Format) {
	if f == nil {
		return
	}
	name := cmp.Or(f.Name, "answer") // the API requires a name
	w.Put("response_format", `{"type":"json_schema","json_schema":{"name":`, api.Quote(name), `,"schema":`, w.Schema(f),
		`}}`)
}

func (w *params) toolChoice(req *llm.Request) {
	if len(api.Offered(req.Tools)) == 0 {
		return // without tools there is no choice, not even none
	}
	switch req.ToolChoice.Mode {
	case llm.ToolNone:
		w.Put("tool_choice", `"none"`)
	case llm.ToolRequired:
		w.Put("tool_choice", `"required"`)
	case llm.ToolNamed:
		w.Put("tool_choice", `{"type":"function","function":{"name":`, api.Quote(req.ToolChoice.Name), `}}`)
	case llm.ToolAuto, "": // the default of every server
	}
	if req.Sequential {
		w.optional("parallel_tool_calls", "false")
	}
}
