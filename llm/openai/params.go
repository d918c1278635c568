package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// encryptedReasoning requests reasoning in a form that can be sent back.
const encryptedReasoning = "reasoning.encrypted_content"

// maxCacheKey is the longest prompt_cache_key, in bytes: "Expected a string with maximum length
// 64".
const maxCacheKey = 64

// parseOptions returns the caller's parameters: those of every request, and those of this one.
func parseOptions(body, raw json.RawMessage) (map[string]json.RawMessage, error) {
	return api.ParseOptions(body, raw, "model", "instructions", "tools", "input", "stream", "background",
		"conversation", "previous_response_id")
}

// params collects a request's parameters.
type params struct {
	api.Params
	quirks []llm.Quirk
}

// encodeParams writes all of a request that may differ between requests, each parameter with a
// comma before it.
func encodeParams(req *llm.Request, own map[string]json.RawMessage) ([]byte, error) {
	if len(req.Stop) > 0 {
		return nil, llm.Errorf(llm.ErrUnsupported, "stop sequences: the Responses API has none")
	}
	p := params{api.Params{Own: own}, req.Quirks}
	if req.Facts != nil {
		p.quirks = slices.Concat(req.Quirks, req.Facts.Quirks)
	}
	if req.MaxTokens > 0 {
		p.Put("max_output_tokens", strconv.Itoa(req.MaxTokens))
	}
	p.reasoning(req)
	p.text(req.Format)
	// "Unsupported parameter: 'temperature' is not supported with this model."
	if f := req.Facts; f == nil || !f.Reasoning || req.Effort == "none" {
		p.Float("temperature", req.Temperature)
		p.Float("top_p", req.TopP)
	}
	p.toolChoice(req)
	p.include(req)
	if api.SearchesWeb(req) {
		p.Put("max_tool_calls", strconv.Itoa(llm.MaxSearches)) // of those that the vendor runs
	}
	p.cache(req)
	p.Put("store", "false")
	p.Put("stream", "true")
	return p.Bytes()
}

// reasoning sets the effort, and requests summaries, the only readable form of the reasoning. It
// sends nothing to models that are known not to reason, and not the effort none to models that
// cannot stop reasoning.
func (p *params) reasoning(req *llm.Request) {
	var ours []member
	facts := req.Facts
	switch {
	case req.Effort == "", facts != nil && !facts.Reasoning:
	case req.Effort != "none":
		ours = []member{{"effort", api.Quote(req.Effort)}, {"summary", `"auto"`}}
	case facts == nil || len(facts.Efforts) == 0 || slices.Contains(facts.Efforts, "none"):
		ours = []member{{"effort", `"none"`}}
	}
	p.object("reasoning", ours...)
}

func (p *params) text(f *llm.Format) {
	if f == nil {
		p.object("text")
		return
	}
	name := cmp.Or(f.Name, "answer") // the API requires a name
	p.object("text", member{"format", `{"type":"json_schema","name":` + api.Quote(name) + `,"schema":` + p.Schema(f) +
		`,"strict":` + strconv.FormatBool(strictSchema(f.Schema)) + `}`})
}

func (p *params) toolChoice(req *llm.Request) {
	if len(api.Offered(req.Tools)) == 0 {
		return
	}
	switch req.ToolChoice.Mode {
	case llm.ToolNone, llm.ToolRequired:
		p.Put("tool_choice", `"`, string(req.ToolChoice.Mode), `"`)
	case llm.ToolNamed:
		kind := "function"
		for _, t := range req.Tools {
			if t.Name == req.ToolChoice.Name && t.Grammar != nil {
				kind = "custom"
			}
		}
		p.Put("tool_choice", `{"type":"`, kind, `","name":`, api.Quote(req.ToolChoice.Name), `}`)
	case llm.ToolAuto, "":
		p.Put("tool_choice", `"auto"`)
	}
	if req.Sequential {
		p.Put("parallel_tool_calls", "false")
	}
}

// include requests encrypted reasoning, which would otherwise be lost, and the pages that a search
// of the web has found, in addition to the caller's own list.
func (p *params) include(req *llm.Request) {
	var list []string
	if reasons(req) {
		list = append(list, encryptedReasoning)
	}
	if api.SearchesWeb(req) {
		list = append(list, foundPages)
	}
	if list == nil {
		return
	}
	if raw, ok := p.Own["include"]; ok {
		var own []string
		if json.Unmarshal(raw, &own) != nil || own == nil {
			return // the caller's null disables it, and the API judges what is not a list
		}
		delete(p.Own, "include")
		ours := slices.Clone(list)
		list = append(list, slices.DeleteFunc(own, func(s string) bool { return slices.Contains(ours, s) })...)
	}
	p.Put("include", api.Strings(list))
}

// reasons reports whether a model reasons, because others refuse to encrypt reasoning. Unknown
// models are assumed to reason, unless their name belongs to an old family.
func reasons(req *llm.Request) bool {
	if req.Facts != nil {
		return req.Facts.Reasoning
	}
	for _, family := range []string{"gpt-3", "gpt-4", "chatgpt-4", "gpt-5-chat"} {
		if strings.HasPrefix(req.Model, family) {
			return req.Effort != ""
		}
	}
	return true
}

// cache sets the caller's key for routing. Caching cannot be disabled, except for models that
// charge for cache writes, from GPT-5.6 on: they have an option to write only where told to.
func (p *params) cache(req *llm.Request) {
	switch key := req.CacheKey; {
	case req.NoCache:
		if f := req.Facts; f != nil && len(f.Prices) > 0 && f.Prices[0].CacheWrite > 0 {
			p.Put("prompt_cache_options", `{"mode":"explicit"}`)
		}
	case key != "":
		if len(key) > maxCacheKey {
			sum := sha256.Sum256([]byte(key))
			key = hex.EncodeToString(sum[:])
		}
		p.Put("prompt_cache_key", api.Quote(key))
	}
}

// member is a member of a JSON object.
type member struct{ name, value string }

// object writes an object with our members, replaced by the caller's where those have the same
// name. A caller's value that is not an object is sent as it is.
func (p *params) object(name string, ours ...member) {
	var own map[string]json.RawMessage
	if raw, ok := p.Own[name]; ok {
		if json.Unmarshal(raw, &own) != nil || own == nil {
			return
		}
		delete(p.Own, name)
	} else if len(ours) == 0 {
		return
	}
	refused := func(member string) bool {
		return slices.Contains(p.quirks, llm.QuirkWithout(name+"."+member))
	}
	maps.DeleteFunc(own, func(member string, _ json.RawMessage) bool { return refused(member) })
	members := api.Params{Own: own}
	for _, m := range ours {
		if !refused(m.name) {
			members.Put(m.name, m.value)
		}
	}
	b, _ := members.Bytes() // only other methods have errors
	p.Put(name, `{`, strings.TrimPrefix(string(b), ","), `}`)
}
