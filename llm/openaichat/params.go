package openaichat

import (
	"encoding/json"
	"strconv"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// params collects a request's parameters.
type params struct{ api.Params }

// encodeParams writes all of a request that may differ between requests, each parameter with a comma before it. It sends nothing
// that was not requested, because every member is refused by some server.
func (p *Provider) encodeParams(req *llm.Request) ([]byte, error) {
	own, err := api.ParseOptions(req.Options[p.o.Name], "model", "messages", "tools", "stream")
	if err != nil {
		return nil, err
	}
	w := params{api.Params{Own: own}}
	if err := w.sampling(req); err != nil {
		return nil, err
	}
	if req.MaxTokens > 0 {
		name := "max_tokens"
		if p.o.MaxCompletionTokens {
			name = "max_completion_tokens"
		}
		w.Put(name, strconv.Itoa(req.MaxTokens))
	}
	if req.Effort != "" && (req.Facts == nil || req.Facts.Reasoning) { // not sent to models that are known not to reason
		w.Put("reasoning_effort", quoted(req.Effort))
	}
	if err := w.format(req.Format); err != nil {
		return nil, err
	}
	w.toolChoice(req)
	if p.o.PromptCacheKey && req.CacheKey != "" {
		w.Put("prompt_cache_key", quoted(req.CacheKey))
	}
	w.Put("stream", "true")
	if !p.o.NoStreamOptions {
		w.Put("stream_options", `{"include_usage":true}`)
	}
	return w.Bytes(), nil
}

func (w *params) sampling(req *llm.Request) error {
	for _, f := range []struct {
		name  string
		value *float64
	}{{"temperature", req.Temperature}, {"top_p", req.TopP}} {
		if f.value == nil {
			continue
		}
		number, err := api.Number(f.name, *f.value)
		if err != nil {
			return err
		}
		w.Put(f.name, number)
	}
	if len(req.Stop) > 0 {
		w.Put("stop", api.Strings(req.Stop))
	}
	return nil
}

// format requests JSON of a schema. It does not set strict: servers that generate by a schema need no such member, and OpenAI
// accepts it only with schemas of a certain form.
func (w *params) format(f *llm.Format) error {
	if f == nil {
		return nil
	}
	if !json.Valid(f.Schema) {
		return llm.Errorf(llm.ErrInvalidRequest, "the format's schema is not valid JSON")
	}
	name := f.Name
	if name == "" {
		name = "answer" // the API requires a name
	}
	w.Put("response_format", `{"type":"json_schema","json_schema":{"name":`, quoted(name), `,"schema":`, string(f.Schema), `}}`)
	return nil
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
		w.Put("tool_choice", `{"type":"function","function":{"name":`, quoted(req.ToolChoice.Name), `}}`)
	case llm.ToolAuto, "": // the default of every server
	}
	if req.Sequential {
		w.Put("parallel_tool_calls", "false")
	}
}

func quoted(s string) string { return string(api.AppendString(nil, s)) }
