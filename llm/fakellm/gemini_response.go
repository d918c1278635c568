package fakellm

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// signed returns the content that a part's signature covers, however it is encoded.
func (p geminiPart) signed() string {
	if p.Text != nil {
		return *p.Text
	}
	if p.FunctionCall == nil {
		return string(p.raw)
	}
	return signedCall(p.FunctionCall.Name, string(p.FunctionCall.Args))
}

func signedCall(name, args string) string {
	var v any
	if json.Unmarshal([]byte(args), &v) == nil && v != nil {
		args = encode(v)
	}
	return name + "\x00" + args
}

// geminiAnswer is a response in the wire's parts.
type geminiAnswer struct {
	parts           []object
	closing         object // the part that comes with the finish reason
	reason, message string
}

// answer splits a response into parts of at most each words. As in the real models' responses, the
// signature is on the first call or, without calls, at the end of the text.
func (f gemini) answer(a *response, each int) geminiAnswer {
	out := geminiAnswer{reason: f.reason(a), closing: object{"text": ""}}
	for _, t := range words(a.Thinking, each) {
		out.parts = append(out.parts, object{"text": t, "thought": true})
	}
	for i, s := range a.Searches {
		out.parts = append(out.parts, geminiSearch(i, &s)...)
	}
	for _, t := range words(a.Text, each) {
		out.parts = append(out.parts, object{"text": t})
	}
	signs := geminiNew().MatchString(f.model) || a.Thinking != ""
	if signs && len(a.Calls) == 0 {
		out.closing["thoughtSignature"] = sign(a.Text)
	}
	for i, c := range a.Calls {
		args := cmp.Or(c.args(), "{}")
		if !isObject(json.RawMessage(args)) { // this API cannot send such a call
			out.reason, out.message = "MALFORMED_FUNCTION_CALL", "Malformed function call: "+c.Name+"("+args+")"
			break
		}
		call := object{"name": c.Name, "args": geminiArgs(i)}
		if !geminiOld().MatchString(f.model) { // the old models send no ids
			call["id"] = c.ID
		}
		part := object{"functionCall": call}
		if signs && i == 0 {
			part["thoughtSignature"] = sign(signedCall(c.Name, args))
		}
		out.parts = append(out.parts, part)
	}
	return out
}

// reason returns the finish reason in the API's words.
func (gemini) reason(a *response) string {
	return a.stop("STOP", map[llm.FinishReason]string{llm.FinishLength: "MAX_TOKENS", llm.FinishContentFilter: "SAFETY",
		llm.FinishError: "MALFORMED_FUNCTION_CALL", llm.FinishOther: "OTHER"})
}

// geminiChunk returns a GenerateContentResponse. Every chunk has the usage so far, in the API's
// form, where candidatesTokenCount does not include the thoughts, and the prompt includes the
// cached input.
func (a *response) geminiChunk(reason, message string, u llm.Usage, parts ...object) string {
	candidate := object{"content": object{"parts": parts, "role": "model"}, "index": 0}
	if reason != "" {
		candidate["finishReason"] = reason
	}
	if message != "" {
		candidate["finishMessage"] = message
	}
	if reason != "" && len(a.Searches) > 0 {
		candidate["groundingMetadata"] = a.grounding()
	}
	usage := object{"promptTokenCount": u.Input, "candidatesTokenCount": u.Output - u.Reasoning,
		"totalTokenCount": u.Total(), "cachedContentTokenCount": u.CacheRead, "thoughtsTokenCount": u.Reasoning}
	data := encode(object{"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": a.model,
		"responseId": a.ID})
	for i, c := range a.Calls {
		data = strings.Replace(data, encode(geminiArgs(i)), cmp.Or(c.args(), "{}"), 1)
	}
	return data
}

// geminiArgs returns a text that stands for the arguments of a call until geminiChunk puts their
// own text in its place, which may not change.
func geminiArgs(call int) string { return "\x00arguments " + strconv.Itoa(call) }

// whole implements format.
func (f gemini) whole(a *response) []byte {
	p := f.answer(a, math.MaxInt)
	signature, signed := p.closing["thoughtSignature"]
	switch {
	case signed && a.Text != "":
		p.parts[len(p.parts)-1]["thoughtSignature"] = signature
	case signed || len(p.parts) == 0:
		p.parts = append(p.parts, p.closing)
	}
	body := a.geminiChunk(p.reason, p.message, a.usage, p.parts...)
	if f.action == "streamGenerateContent" {
		body = "[" + body + "]"
	}
	return []byte(body)
}

// stream implements format.
func (f gemini) stream(a *response) []frame {
	p := f.answer(a, f.words)
	var frames []frame
	soFar := llm.Usage{Input: a.usage.Input, CacheRead: a.usage.CacheRead}
	size := 0
	for _, part := range p.parts {
		size += len(encode(part))
		soFar.Output = min(tokens(size), a.usage.Output)
		frames = append(frames, frame{data: a.geminiChunk("", "", soFar, part), content: true})
	}
	return append(frames, frame{data: a.geminiChunk(p.reason, p.message, a.usage, p.closing), closing: true})
}

// geminiStatus maps HTTP statuses to the API's status words. Other statuses come from a proxy and
// have none.
var geminiStatus = map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
	404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}

// failure implements format.
func (gemini) failure(why *refusal) []byte {
	status := why.code
	if status == "" || status != strings.ToUpper(status) { // another vendor's code
		status = geminiStatus[why.status]
	}
	e := object{"code": why.status, "message": why.message}
	if status != "" {
		e["status"] = status
	}
	return []byte(encode(object{"error": e}))
}

// inBand implements format.
func (f gemini) inBand() frame {
	return frame{data: string(f.failure(&refusal{status: 503, message: "The model is not well."}))}
}

// ping implements format: the API has no event for it, so it is a comment.
func (gemini) ping() frame { return frame{} }
