package fakellm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// openaiMedia returns the media of a URL. A data URL is decoded.
func openaiMedia(kind, source string, p openaiPart) llm.Media {
	m := llm.Media{MIME: kind, URL: source, Name: p.Filename, Detail: p.Detail}
	if kind, data, ok := dataURL(source); ok {
		m.MIME, m.URL, m.Data = kind, "", data
	}
	return m
}

// openaiStatus returns the response's status and, if it is incomplete, the reason.
func (a *response) openaiStatus() (status, reason string) {
	if a.Stop != "" {
		return "incomplete", a.Stop
	}
	switch a.Finish {
	case llm.FinishLength:
		return "incomplete", "max_output_tokens"
	case llm.FinishContentFilter:
		if a.Text == "" { // with a text, that is a refusal
			return "incomplete", "content_filter"
		}
	case llm.FinishOther:
		return "incomplete", "other"
	}
	return "completed", ""
}

// response returns the response as an object; with the status in_progress, the object with which a
// stream begins. The API repeats the request in it, and this server does not.
func (f *openai) response(a *response, status string, output []object) object {
	r := object{"id": f.id(a), "object": "response", "created_at": 1735689600, "status": status, "error": nil,
		"incomplete_details": nil, "model": a.model, "output": output, "usage": nil}
	if _, reason := a.openaiStatus(); reason != "" && status == "incomplete" {
		r["incomplete_details"] = object{"reason": reason}
	}
	if status != "in_progress" {
		u := a.usage
		r["usage"] = object{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Total(),
			"input_tokens_details":  object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": object{"reasoning_tokens": u.Reasoning}}
	}
	return r
}

// id returns the response's id. One that the server has made up gets the API's form.
func (f *openai) id(a *response) string {
	if n, ok := strings.CutPrefix(a.ID, "msg_"); ok {
		return "resp_" + n
	}
	return a.ID
}

// items returns the response's items, whole.
func (f *openai) items(a *response) []object {
	status, _ := a.openaiStatus()
	items := []object{}
	add := func(id, kind string, item object) object {
		item["id"], item["type"] = id+"_"+f.id(a)+"_"+strconv.Itoa(len(items)), kind
		items = append(items, item)
		return item
	}
	if a.Thinking != "" {
		item := add("rs", "reasoning",
			object{"content": []any{}, "summary": []any{object{"type": "summary_text", "text": a.Thinking}}})
		if slices.Contains(f.asked.Include, "reasoning.encrypted_content") {
			item["encrypted_content"] = encrypt(item["id"].(string), a.Thinking)
		}
	}
	for _, s := range a.Searches {
		item := add("ws", "web_search_call", object{"status": "completed", "action": f.action(&s)})
		if s.Error != "" {
			item["status"] = "failed"
		}
	}
	if a.Text != "" {
		add("msg", "message", object{"role": "assistant", "status": status, "content": []any{f.text(a, a.Text)}})
	}
	for _, c := range a.Calls {
		item, args := object{"status": status, "call_id": c.ID}, cmp.Or(c.args(), "{}")
		switch {
		case f.custom(c.Name):
			item["name"], item["input"] = c.Name, c.args()
			add("ctc", "custom_tool_call", item)
		case c.Name == searchName && f.searches():
			item["execution"], item["arguments"] = "client", json.RawMessage(args)
			add("tsc", "tool_search_call", item)
		default:
			item["name"], item["arguments"] = c.Name, args
			add("fc", "function_call", item)
		}
	}
	return items
}

// text returns a message's only part. A refusal has a kind of its own.
func (f *openai) text(a *response, text string) object {
	if a.Finish == llm.FinishContentFilter {
		return object{"type": "refusal", "refusal": text}
	}
	annotations := []any{}
	if text != "" {
		for _, c := range a.Cites {
			annotations = append(annotations, object{"type": "url_citation", "url": c.URL, "title": c.Title,
				"start_index": 0, "end_index": len(text)})
		}
	}
	return object{"type": "output_text", "text": text, "annotations": annotations, "logprobs": []any{}}
}

// custom reports whether a tool takes free text.
func (f *openai) custom(name string) bool {
	return slices.ContainsFunc(f.asked.Tools, func(t openaiTool) bool { return t.Name == name && t.Type == "custom" })
}

// searches reports whether the request has the API's own form of a tool that finds others.
func (f *openai) searches() bool {
	return slices.ContainsFunc(f.asked.Tools, func(t openaiTool) bool { return t.Type == searchName })
}

// whole implements format.
func (f *openai) whole(a *response) []byte {
	status, _ := a.openaiStatus()
	return []byte(encode(f.response(a, status, f.items(a))))
}

// failure implements format.
func (f *openai) failure(why *refusal) []byte {
	kind, code := openaiError(why.status)
	code = cmp.Or(why.code, code)
	e := object{"message": why.message, "type": kind, "param": nil, "code": nil}
	if f.param != "" {
		e["param"] = f.param
	}
	if code != "" && code != kind {
		e["code"] = code
	}
	return []byte(encode(object{"error": e}))
}

// openaiError returns the type of an error, and the code that usually comes with the status.
func openaiError(status int) (kind, code string) {
	switch status {
	case 401:
		return "invalid_request_error", "invalid_api_key"
	case 402:
		return "insufficient_quota", "insufficient_quota"
	case 429:
		return "rate_limit_error", "rate_limit_exceeded"
	case 503, 529:
		return "service_unavailable_error", "server_is_overloaded"
	case 504:
		return "gateway_timeout", ""
	}
	if status >= 500 {
		return "server_error", "server_error"
	}
	return "invalid_request_error", ""
}

// inBand implements format.
func (*openai) inBand() frame {
	return frame{event: "error", data: encode(object{"type": "error", "code": "server_is_overloaded",
		"message": "The server is not well.", "param": nil, "sequence_number": 0})}
}

// ping implements format. The real API sends this event, but does not document it.
func (*openai) ping() frame {
	return frame{event: "keepalive", data: `{"type":"keepalive","sequence_number":0}`}
}
