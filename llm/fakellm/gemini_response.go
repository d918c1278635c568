package fakellm

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// prefixes returns the cacheable beginnings, without breakpoints. The API caches prompts of 1,024 tokens and more.
func (w *geminiRequest) prefixes(model string) []prefix {
	var prompt [][]byte
	contents := w.Contents
	if w.SystemInstruction != nil {
		contents = append([]geminiContent{*w.SystemInstruction}, contents...)
	}
	for _, t := range w.Tools {
		prompt = append(prompt, t.raw)
	}
	for _, c := range contents {
		prompt = append(prompt, []byte(c.Role))
		for _, part := range c.Parts {
			prompt = append(prompt, part.raw)
		}
	}
	return automatic(model+"\x00"+w.CachedContent, prompt, 1024, 128)
}

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

// geminiPieces is a response in the wire's parts.
type geminiPieces struct {
	thoughts, text, calls []string // parts
	closing               string   // the part that comes with the finish reason
	reason, message       string
}

// geminiParts splits a response into parts of so many words each; 0 means whole parts. As in the
// real models' responses, the signature is on the first call or, without calls, at the end of the
// text.
func (f gemini) geminiParts(a *response, each int) geminiPieces {
	cut := func(text string) []string {
		if each == 0 && text != "" {
			return []string{text}
		}
		return words(text, each)
	}
	out := geminiPieces{reason: a.stop(geminiReason), closing: `{"text": ""}`}
	for _, t := range cut(a.Thinking) {
		out.thoughts = append(out.thoughts, `{"text": `+encode(t)+`,"thought": true}`)
	}
	for _, t := range cut(a.Text) {
		out.text = append(out.text, `{"text": `+encode(t)+`}`)
	}
	signs := geminiNew().MatchString(f.model) || a.Thinking != ""
	if signs && len(a.Calls) == 0 {
		out.closing = `{"text": "","thoughtSignature": "` + sign(a.Text) + `"}`
		if each == 0 && a.Text != "" {
			out.text, out.closing = []string{`{"text": ` + encode(a.Text) + `,"thoughtSignature": "` + sign(a.Text) +
				`"}`}, ""
		}
	}
	for i, c := range a.Calls {
		args := c.args()
		if args == "" {
			args = "{}"
		}
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(args), &object) != nil || object == nil { // this API cannot send such a call
			out.reason, out.message = "MALFORMED_FUNCTION_CALL", "Malformed function call: "+c.Name+"("+args+")"
			break
		}
		part := `{"functionCall": {"name": ` + encode(c.Name) + `,"args": ` + args
		if !geminiOld().MatchString(f.model) { // the old models send no ids
			part += `,"id": ` + encode(c.ID)
		}
		part += `}`
		if signs && i == 0 {
			part += `,"thoughtSignature": "` + sign(signedCall(c.Name, args)) + `"`
		}
		out.calls = append(out.calls, part+`}`)
	}
	return out
}

func geminiReason(a *response) string {
	switch a.Finish {
	case llm.FinishLength:
		return "MAX_TOKENS"
	case llm.FinishContentFilter:
		return "SAFETY"
	case llm.FinishError:
		return "MALFORMED_FUNCTION_CALL"
	case llm.FinishOther:
		return "OTHER"
	}
	return "STOP"
}

// geminiChunk returns a GenerateContentResponse. Every chunk has the usage so far.
func (a *response) geminiChunk(parts, reason, message, usage string) string {
	var b strings.Builder
	b.WriteString(`{"candidates": [{"content": {"parts": [` + parts + `],"role": "model"},`)
	if reason != "" {
		b.WriteString(`"finishReason": "` + reason + `",`)
	}
	if message != "" {
		b.WriteString(`"finishMessage": ` + encode(message) + `,`)
	}
	b.WriteString(`"index": 0}],"usageMetadata": ` + usage + `,"modelVersion": ` + encode(a.model) + `,"responseId": ` +
		encode(a.ID) + `}`)
	return b.String()
}

// geminiUsage returns usage in the API's form, where candidatesTokenCount does not include the
// thoughts, and the prompt includes the cached input.
func geminiUsage(u llm.Usage) string {
	text := fmt.Sprintf(`{"promptTokenCount": %d,"candidatesTokenCount": %d,"totalTokenCount": %d`, u.Input,
		u.Output-u.Reasoning, u.Total())
	if u.CacheRead > 0 {
		text += fmt.Sprintf(`,"cachedContentTokenCount": %d`, u.CacheRead)
	}
	text += fmt.Sprintf(`,"promptTokensDetails": [{"modality": "TEXT","tokenCount": %d}]`, u.Input)
	if u.CacheRead > 0 {
		text += fmt.Sprintf(`,"cacheTokensDetails": [{"modality": "TEXT","tokenCount": %d}]`, u.CacheRead)
	}
	if u.Reasoning > 0 {
		text += fmt.Sprintf(`,"thoughtsTokenCount": %d`, u.Reasoning)
	}
	return text + "}"
}

// whole implements format.
func (f gemini) whole(a *response) []byte {
	p := f.geminiParts(a, 0)
	var parts []string
	for _, list := range [][]string{p.thoughts, p.text, p.calls} {
		parts = append(parts, list...)
	}
	if p.closing != "" && (len(parts) == 0 || p.closing != `{"text": ""}`) {
		parts = append(parts, p.closing)
	}
	body := a.geminiChunk(strings.Join(parts, ","), p.reason, p.message, geminiUsage(a.usage))
	if f.action == "streamGenerateContent" {
		body = "[" + body + "]"
	}
	return []byte(body)
}

// stream implements format.
func (f gemini) stream(a *response) []frame {
	p := f.geminiParts(a, f.words)
	var frames []frame
	so := llm.Usage{Input: a.usage.Input, CacheRead: a.usage.CacheRead}
	size := 0
	for _, list := range [][]string{p.thoughts, p.text, p.calls} {
		for _, part := range list {
			size += len(part)
			so.Output = min(tokens(size), a.usage.Output)
			frames = append(frames, frame{data: a.geminiChunk(part, "", "", geminiUsage(so)), content: true})
		}
	}
	return append(frames, frame{data: a.geminiChunk(p.closing, p.reason, p.message, geminiUsage(a.usage)),
		closing: true})
}

// geminiStatus maps HTTP statuses to the API's status words. Other statuses come from a proxy and
// have none.
var geminiStatus = map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
	404: "NOT_FOUND",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}

// failure implements format.
func (gemini) failure(why *refusal) []byte {
	status := why.code
	if status == "" || status != strings.ToUpper(status) { // another vendor's code
		status = geminiStatus[why.status]
	}
	e := map[string]any{"code": why.status, "message": why.message}
	if status != "" {
		e["status"] = status
	}
	return []byte(encode(map[string]any{"error": e}))
}

// inBand implements format.
func (f gemini) inBand(code string) frame {
	if code == "" {
		code = "UNAVAILABLE"
	}
	why := &refusal{status: 500, code: code, message: "The model is not well."}
	for status, word := range geminiStatus {
		if word == code {
			why.status = status
		}
	}
	return frame{data: string(f.failure(why))}
}

// garbage implements format.
func (gemini) garbage() frame { return frame{data: `{"candidates": [{"content": {"pa`} }

// ping implements format: the API has no event for it, so it is a comment.
func (gemini) ping() frame { return frame{} }
