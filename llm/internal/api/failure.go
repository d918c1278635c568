package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Failure holds the contents of a provider's error JSON.
type Failure struct {
	Code, Message string
	// Kind is set if the provider's own code decides it. Otherwise the known phrases in the message
	// do, then the status.
	Kind       error
	RequestID  string
	RetryAfter time.Duration
	// Status replaces the response's own status if that was a success: an error in the middle of a
	// response may have one.
	Status int
}

// wireError is an error in any of its forms; the value of "error" has the same forms.
//
//	{"error":{"message":"...","type":"...","code":"..."}}     OpenAI and most others
//	{"type":"error","error":{"type":"...","message":"..."}}   Anthropic
//	{"type":"response.failed","response":{"error":{...}}}     OpenAI, in the middle of a response
//	{"error":"..."}                                            Ollama, xAI
//	{"object":"error","message":"...","type":"...","code":400} vLLM, Mistral
//	{"detail":"..."}, {"detail":[{"msg":"..."}]}               servers written with FastAPI
//	{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"..."}}}   OpenRouter
//	[{"error":{...}}]                                          Gemini
type wireError struct {
	Error      json.RawMessage `json:"error"`
	Errors     json.RawMessage `json:"errors"`
	Response   json.RawMessage `json:"response"`
	Groq       outerError      `json:"x_groq"`
	Choices    []outerError    `json:"choices"`
	Message    json.RawMessage `json:"message"` // a string, or FastAPI's detail (Mistral)
	Msg        string          `json:"msg"`
	Detail     json.RawMessage `json:"detail"`
	Type       string          `json:"type"`
	Code       json.RawMessage `json:"code"` // a string, a number or null
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Metadata   struct {
		Raw      json.RawMessage `json:"raw"`
		Provider string          `json:"provider_name"`
	} `json:"metadata"`
}

// outerError is what has an error in it.
type outerError struct {
	Error json.RawMessage `json:"error"`
}

// maxNesting is the depth to which errors within errors are decoded.
const maxNesting = 8

// DecodeError decodes all forms of errors but Google's. The code decides the kind, else the type.
// For anything but JSON it returns nothing.
func DecodeError(body []byte) Failure {
	f := readError(body, maxNesting)
	// These two kinds occur with every status from 400 and from 500 on, so the status and the
	// message are more precise.
	if general := map[error]int{llm.ErrInvalidRequest: 400, llm.ErrServer: 500}[f.Kind]; general != 0 {
		f.Kind, f.Status = nil, cmp.Or(f.Status, general)
	}
	if f.Kind == llm.ErrRateLimit { // an error in the middle of a response has no header for it
		f.RetryAfter = SaidDelay(f.Message, "try again in ")
	}
	return f
}

func readError(body []byte, depth int) Failure {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || depth == 0 {
		return Failure{}
	}
	var list []json.RawMessage
	var text string
	switch {
	case json.Unmarshal(body, &text) == nil:
		return Failure{Message: text}
	case json.Unmarshal(body, &list) == nil && len(list) > 0:
		return readError(list[0], depth-1)
	}
	var w wireError
	var odd *json.UnmarshalTypeError // a member of another type has left the others as they are
	if err := json.Unmarshal(body, &w); err != nil && !errors.As(err, &odd) {
		return Failure{}
	}
	f := w.own(depth)
	inner := readError(w.inner(), depth-1)
	f.Message, f.Code = cmp.Or(inner.Message, f.Message), cmp.Or(inner.Code, f.Code)
	f.Kind, f.Status = cmp.Or(inner.Kind, f.Kind), cmp.Or(inner.Status, f.Status)
	return f
}

// inner returns the error within this one.
func (w *wireError) inner() json.RawMessage {
	for _, raw := range []json.RawMessage{w.Error, w.Errors, w.Response, w.Groq.Error} {
		if !NoError(raw) {
			return raw
		}
	}
	if len(w.Choices) > 0 {
		return w.Choices[0].Error
	}
	return nil
}

// own returns what this level says.
func (w *wireError) own(depth int) Failure {
	f := Failure{Message: w.Msg, RequestID: w.RequestID, Status: errorStatus(w.StatusCode)}
	for _, raw := range []json.RawMessage{w.Detail, w.Message} {
		f.Message = cmp.Or(readError(raw, depth-1).Message, f.Message)
	}
	var code string
	_ = json.Unmarshal(w.Code, &code) // anything but a string is no code
	f.Code, f.Kind = code, cmp.Or(CodeKind(code), CodeKind(w.Type))
	if code == "" && w.Type != "error" && w.Type != "response.failed" { // which are types of events
		f.Code = w.Type
	}
	// A numeric code is usually the status.
	if n, err := strconv.Atoi(strings.Trim(string(w.Code), `"`)); err == nil {
		f.Status = cmp.Or(errorStatus(n), f.Status)
	}
	if upstream := readError(rawText(w.Metadata.Raw), depth-1); upstream.Message != "" {
		f.Message += ": " + upstream.Message
		if w.Metadata.Provider != "" {
			f.Message += " (" + w.Metadata.Provider + ")"
		}
	}
	return f
}

// rawText returns a string's content: the upstream server's error body, which may be JSON or not.
func rawText(raw json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(raw, &text) != nil || !json.Valid([]byte(text)) {
		return raw
	}
	return json.RawMessage(text)
}

func errorStatus(n int) int {
	if n >= 400 && n < 600 {
		return n
	}
	return 0
}

// NoError reports whether a member for errors contains none.
func NoError(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", `""`, "{}", "false":
		return true
	}
	return false
}
