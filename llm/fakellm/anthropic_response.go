package fakellm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/attractor-go/attractor/llm"
)

func itoa(i int) string { return strconv.Itoa(i) }

// life returns for how long the cache breakpoint of a block or a tool keeps what is before it, 0
// without one.
func life(raw json.RawMessage) time.Duration {
	var w struct {
		CacheControl *struct{ Type, TTL string } `json:"cache_control"`
	}
	switch {
	case json.Unmarshal(raw, &w) != nil || w.CacheControl == nil:
		return 0
	case w.CacheControl.TTL == "1h":
		return longLife
	}
	return shortLife
}

// marked reports whether a block or a tool has a cache breakpoint.
func marked(raw json.RawMessage) bool { return life(raw) > 0 }

// prefixes returns the request's blocks in the order in which the API caches them: tools, system,
// messages. They do not have the breakpoints themselves, because these move from request to
// request.
func (w *anthropicRequest) prefixes() []prefix {
	p := newPrefixer(w.Model)
	for _, t := range w.Tools {
		if !t.Deferred { // the others are not part of the prompt
			p.add("tool", unmarked(t.raw), life(t.raw))
		}
	}
	for _, b := range w.System {
		p.add("system", unmarked(b.raw), life(b.raw))
	}
	for i, m := range w.Messages {
		for _, b := range m.Content {
			p.add(m.Role+itoa(i), unmarked(b.raw), life(b.raw))
		}
	}
	return p.list
}

// unmarked returns a block without its cache breakpoint.
func unmarked(raw json.RawMessage) []byte {
	if !marked(raw) {
		return raw
	}
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`} {
		if at := bytes.LastIndex(raw, []byte(mark)); at >= 0 {
			return slices.Concat(raw[:at], raw[at+len(mark):])
		}
	}
	return raw // written in another way, so it never equals its unmarked form: the cache misses, and tests notice
}

// anthropicUsage returns usage in the API's form, where input_tokens does not include the cached
// input.
func anthropicUsage(u llm.Usage, output int) map[string]any {
	return map[string]any{"server_tool_use": map[string]any{"web_search_requests": u.Searches},
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens": output,
		"cache_creation": map[string]any{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWriteLong,
			"ephemeral_1h_input_tokens": u.CacheWriteLong},
		"output_tokens_details": map[string]any{"thinking_tokens": min(u.Reasoning, output)}}
}

func anthropicStop(a *response) string {
	switch a.Finish {
	case llm.FinishLength:
		return "max_tokens"
	case llm.FinishContextLength:
		return "model_context_window_exceeded"
	case llm.FinishToolCalls:
		return "tool_use"
	case llm.FinishContentFilter:
		return "refusal"
	case llm.FinishPause:
		return "pause_turn"
	}
	return "end_turn"
}

// anthropicBlocks returns the response's content blocks.
func (a *response) anthropicBlocks() []map[string]any {
	blocks := []map[string]any{}
	if a.Thinking != "" {
		blocks = append(blocks, map[string]any{"type": "thinking", "thinking": a.Thinking,
			"signature": sign(a.Thinking)})
	}
	blocks = append(blocks, a.anthropicSearches()...)
	for _, piece := range a.cited() {
		block := map[string]any{"type": "text", "text": piece.text}
		if len(piece.cites) > 0 {
			block["citations"] = anthropicCitations(piece.cites)
		}
		blocks = append(blocks, block)
	}
	for _, c := range a.Calls {
		input := json.RawMessage(c.args())
		if !json.Valid(input) { // only a stream can contain invalid JSON
			input = json.RawMessage(`{}`)
		}
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	return blocks
}

func (a *response) anthropicMessage(content any, stop any, output int) map[string]any {
	return map[string]any{"id": a.ID, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": anthropicUsage(a.usage, output)}
}

// whole implements format.
func (anthropic) whole(a *response) []byte {
	return []byte(encode(a.anthropicMessage(a.anthropicBlocks(), a.stop(anthropicStop), a.usage.Output)))
}

// stream implements format.
func (f anthropic) stream(a *response) []frame {
	var frames []frame
	add := func(event string, members map[string]any) *frame {
		members["type"] = event
		frames = append(frames, frame{event: event, data: encode(members)})
		return &frames[len(frames)-1]
	}
	add("message_start", map[string]any{"message": a.anthropicMessage([]any{}, nil, 1)})
	add("ping", map[string]any{})
	index := 0
	var citations []map[string]any // of the next block
	block := func(start map[string]any, kind, member string, pieces []string, signature string) {
		add("content_block_start", map[string]any{"index": index, "content_block": start})
		delta := func(kind, member, piece string, content bool) {
			add("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": kind,
				member: piece}}).content = content
		}
		for _, c := range citations {
			add("content_block_delta", map[string]any{"index": index, "delta": map[string]any{"type": "citations_delta",
				"citation": c}})
		}
		for _, p := range pieces {
			delta(kind, member, p, true)
		}
		if signature != "" {
			delta("signature_delta", "signature", signature, false)
		}
		add("content_block_stop", map[string]any{"index": index})
		index++
	}
	if a.Thinking != "" {
		block(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking",
			words(a.Thinking, f.words), sign(a.Thinking))
	}
	for _, s := range a.anthropicSearches() {
		if s["input"] == nil { // a result comes whole
			block(s, "", "", nil, "")
			continue
		}
		input := encode(s["input"])
		s["input"] = map[string]any{}
		block(s, "input_json_delta", "partial_json", []string{"", input}, "")
	}
	for _, piece := range a.cited() {
		start := map[string]any{"type": "text", "text": ""}
		if len(piece.cites) > 0 {
			start["citations"] = []any{}
		}
		citations = anthropicCitations(piece.cites)
		block(start, "text_delta", "text", words(piece.text, f.words), "")
		citations = nil
	}
	for _, c := range a.Calls {
		block(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}},
			"input_json_delta",
			"partial_json", append([]string{""}, bytewise(c.args(), argBytes(f.words))...), "")
	}
	add("message_delta", map[string]any{"delta": map[string]any{"stop_reason": a.stop(anthropicStop),
		"stop_sequence": nil},
		"usage": anthropicUsage(a.usage, a.usage.Output)}).closing = true
	add("message_stop", map[string]any{})
	return frames
}

// failure implements format.
func (anthropic) failure(why *refusal) []byte {
	code := cmp.Or(why.code, anthropicCodes[why.status], "api_error")
	return []byte(encode(map[string]any{"type": "error", "error": map[string]any{"type": code,
		"message": why.message}}))
}

// anthropicCodes maps HTTP statuses to the API's codes. Others are api_error.
var anthropicCodes = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	402: "billing_error",
	403: "permission_error",
	404: "not_found_error",
	413: "request_too_large",
	429: "rate_limit_error",
	504: "timeout_error",
	529: "overloaded_error",
}

// inBand implements format.
func (anthropic) inBand(code string) frame {
	code = cmp.Or(code, "overloaded_error")
	return frame{event: "error", data: encode(map[string]any{"type": "error", "error": map[string]any{"type": code,
		"message": "The server is not well."}})}
}

// garbage implements format.
func (anthropic) garbage() frame {
	return frame{event: "content_block_delta", data: `{"type":"content_block_delta","index":0,"delta":{"ty`}
}

// ping implements format.
func (anthropic) ping() frame { return frame{event: "ping", data: `{"type":"ping"}`} }

// encode returns the JSON of a value made by this package. Only a script's arguments could be
// invalid JSON, and they are checked before.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fakellm: " + err.Error())
	}
	return string(b)
}
