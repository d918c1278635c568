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

// life returns the time for which the cache breakpoint of a block or a tool keeps the prefix that
// ends there, 0 without a breakpoint.
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

// prefixes returns a prefix for each of the request's blocks, in the order in which the API caches
// them: tools, system, messages. Their hashes leave out the breakpoints, which move from request to
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
			p.add(m.Role+strconv.Itoa(i), unmarked(b.raw), life(b.raw))
		}
	}
	return p.list
}

// unmarked returns a block without its cache breakpoint.
func unmarked(raw json.RawMessage) []byte {
	if !marked(raw) {
		return raw
	}
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`,
		`,"cache_control":{"type":"ephemeral","ttl":"1h"}`} {
		if at := bytes.LastIndex(raw, []byte(mark)); at >= 0 {
			return slices.Concat(raw[:at], raw[at+len(mark):])
		}
	}
	return raw // written in another way, so it never equals its unmarked form: the cache misses, and tests notice
}

// anthropicUsage returns usage in the API's form, where input_tokens does not include the cached
// input.
func anthropicUsage(u llm.Usage, output int) object {
	return object{"server_tool_use": object{"web_search_requests": u.Searches},
		"input_tokens": u.Input - u.CacheRead - u.CacheWrite, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens": output,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWriteLong,
			"ephemeral_1h_input_tokens": u.CacheWriteLong},
		"output_tokens_details": object{"thinking_tokens": min(u.Reasoning, output)}}
}

// stop returns the finish reason in the API's words.
func (anthropic) stop(a *response) string {
	return a.stop("end_turn", map[llm.FinishReason]string{llm.FinishLength: "max_tokens",
		llm.FinishContextLength: "model_context_window_exceeded", llm.FinishToolCalls: "tool_use",
		llm.FinishContentFilter: "refusal", llm.FinishPause: "pause_turn"})
}

// anthropicBlocks returns the response's content blocks.
func (a *response) anthropicBlocks() []object {
	blocks := []object{}
	if a.Thinking != "" {
		blocks = append(blocks, object{"type": "thinking", "thinking": a.Thinking, "signature": sign(a.Thinking)})
	}
	blocks = append(blocks, a.anthropicSearches()...)
	for _, piece := range a.cited() {
		block := object{"type": "text", "text": piece.text}
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
		blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	return blocks
}

func (a *response) anthropicMessage(content any, stop any, output int) object {
	return object{"id": a.ID, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": anthropicUsage(a.usage, output)}
}

// whole implements format.
func (f anthropic) whole(a *response) []byte {
	return []byte(encode(a.anthropicMessage(a.anthropicBlocks(), f.stop(a), a.usage.Output)))
}

// stream implements format.
func (f anthropic) stream(a *response) []frame {
	var frames []frame
	add := func(event string, members object) *frame {
		members["type"] = event
		frames = append(frames, frame{event: event, data: encode(members)})
		return &frames[len(frames)-1]
	}
	add("message_start", object{"message": a.anthropicMessage([]any{}, nil, 1)})
	add("ping", object{})
	index := 0
	delta := func(members object) *frame {
		return add("content_block_delta", object{"index": index, "delta": members})
	}
	deltas := func(kind, member string, pieces ...string) {
		for _, piece := range pieces {
			delta(object{"type": kind, member: piece}).content = true
		}
	}
	block := func(start object, inside func()) {
		add("content_block_start", object{"index": index, "content_block": start})
		inside()
		add("content_block_stop", object{"index": index})
		index++
	}
	if a.Thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, func() {
			deltas("thinking_delta", "thinking", words(a.Thinking, f.words)...)
			delta(object{"type": "signature_delta", "signature": sign(a.Thinking)})
		})
	}
	for _, s := range a.anthropicSearches() {
		var input []string // none for a result, which is sent in one event
		if s["input"] != nil {
			input = []string{"", encode(s["input"])}
			s["input"] = object{}
		}
		block(s, func() { deltas("input_json_delta", "partial_json", input...) })
	}
	for _, piece := range a.cited() {
		start := object{"type": "text", "text": ""}
		if len(piece.cites) > 0 {
			start["citations"] = []any{}
		}
		block(start, func() {
			for _, c := range anthropicCitations(piece.cites) {
				delta(object{"type": "citations_delta", "citation": c})
			}
			deltas("text_delta", "text", words(piece.text, f.words)...)
		})
	}
	for _, c := range a.Calls {
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, func() {
			deltas("input_json_delta", "partial_json", "")
			deltas("input_json_delta", "partial_json", bytewise(c.args(), argBytes(f.words))...)
		})
	}
	add("message_delta", object{"delta": object{"stop_reason": f.stop(a), "stop_sequence": nil},
		"usage": anthropicUsage(a.usage, a.usage.Output)}).closing = true
	add("message_stop", object{})
	return frames
}

// failure implements format.
func (anthropic) failure(why *refusal) []byte {
	code := cmp.Or(why.code, anthropicCodes[why.status], "api_error")
	return []byte(encode(object{"type": "error", "error": object{"type": code, "message": why.message}}))
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
func (f anthropic) inBand() frame {
	return frame{event: "error", data: string(f.failure(&refusal{status: 529, message: "The server is not well."}))}
}

// ping implements format.
func (anthropic) ping() frame { return frame{event: "ping", data: `{"type":"ping"}`} }
