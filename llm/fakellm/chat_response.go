package fakellm

import "github.com/attractor-go/attractor/llm"

func chatUsage(u llm.Usage) object {
	return object{"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}
}

// finish returns the finish reason in the API's words.
func (*chat) finish(a *response) string {
	return a.stop("stop", map[llm.FinishReason]string{llm.FinishLength: "length", llm.FinishToolCalls: "tool_calls",
		llm.FinishContentFilter: "content_filter", llm.FinishContextLength: "model_length"})
}

func (a *response) chatObject(kind string, choices []any) object {
	return object{"id": a.ID, "object": kind, "created": 1700000000, "model": a.model,
		"system_fingerprint": "fp_fake", "choices": choices}
}

func chatCallObject(c Call, args string) object {
	return object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": args}}
}

// whole implements format.
func (f *chat) whole(a *response) []byte {
	message := object{"role": "assistant", "content": nil}
	if a.Text != "" || len(a.Calls) == 0 {
		message["content"] = a.Text
	}
	if a.Thinking != "" {
		message["reasoning_content"] = a.Thinking
	}
	var calls []any
	for _, c := range a.Calls {
		calls = append(calls, chatCallObject(c, c.args()))
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	choice := object{"index": 0, "message": message, "logprobs": nil, "finish_reason": f.finish(a)}
	body := a.chatObject("chat.completion", []any{choice})
	body["usage"] = chatUsage(a.usage)
	return []byte(encode(body))
}

// stream implements format.
func (f *chat) stream(a *response) []frame {
	var frames []frame
	add := func(delta object, finish any) *frame {
		choice := object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}
		frames = append(frames, frame{data: encode(a.chatObject("chat.completion.chunk", []any{choice}))})
		return &frames[len(frames)-1]
	}
	add(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range words(a.Thinking, f.words) {
		add(object{"reasoning_content": piece}, nil).content = true
	}
	for _, piece := range words(a.Text, f.words) {
		add(object{"content": piece}, nil).content = true
	}
	for i, c := range a.Calls {
		first := chatCallObject(c, "")
		first["index"] = i
		add(object{"tool_calls": []any{first}}, nil)
		for _, piece := range bytewise(c.args(), argBytes(f.words)) {
			more := object{"index": i, "function": object{"arguments": piece}}
			add(object{"tool_calls": []any{more}}, nil).content = true
		}
	}
	add(object{}, f.finish(a)).closing = true
	if f.usage {
		last := a.chatObject("chat.completion.chunk", []any{})
		last["usage"] = chatUsage(a.usage)
		frames = append(frames, frame{data: encode(last)})
	}
	return append(frames, frame{data: "[DONE]"})
}

// failure implements format.
func (*chat) failure(why *refusal) []byte {
	kind := "invalid_request_error"
	switch {
	case why.status == 429:
		kind = "rate_limit_error"
	case why.status >= 500:
		kind = "server_error"
	}
	var code any
	if why.code != "" && why.code != kind {
		code = why.code
	}
	return []byte(encode(object{"error": object{"message": why.message, "type": kind, "param": nil, "code": code}}))
}

// inBand implements format.
func (*chat) inBand() frame {
	return frame{data: encode(object{"error": object{"message": "The server is not well.",
		"type": "overloaded_error"}})}
}

// ping implements format: a comment keeps the connection alive.
func (*chat) ping() frame { return frame{} }
