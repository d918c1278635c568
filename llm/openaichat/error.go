package openaichat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireError is an error in any of its forms; the value of "error" has the same forms.
//
//	{"error":{"message":"...","type":"...","code":"..."}}     OpenAI and most others
//	{"error":"..."}                                            Ollama, xAI
//	{"object":"error","message":"...","type":"...","code":400} vLLM, Mistral
//	{"detail":"..."}, {"detail":[{"msg":"..."}]}               servers written with FastAPI
//	{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"..."}}}   OpenRouter
//	[{"error":{...}}]                                          Gemini
type wireError struct {
	Error      json.RawMessage `json:"error"`
	Errors     json.RawMessage `json:"errors"`
	Groq       *wireGroq       `json:"x_groq"`
	Choices    []wireErrors    `json:"choices"`
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

type wireErrors struct {
	Error json.RawMessage `json:"error"`
}

// maxNesting is the depth to which errors within errors are decoded.
const maxNesting = 8

// decodeError implements [api.Call].Decode for this format.
func decodeError(body []byte) api.Failure {
	f := readError(body, maxNesting)
	f.Kind = api.CodeKind(f.Code)
	// These two kinds occur with every status from 400 and from 500 on, so the status and the
	// message are more precise.
	general := map[error]int{llm.ErrInvalidRequest: 400, llm.ErrServer: 500}[f.Kind]
	if general == 0 {
		return f
	}
	f.Kind = nil
	f.Status = cmp.Or(f.Status, general)
	return f
}

func readError(body []byte, depth int) api.Failure {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || depth == 0 {
		return api.Failure{}
	}
	var list []json.RawMessage
	var text string
	switch {
	case json.Unmarshal(body, &text) == nil:
		return api.Failure{Message: text}
	case json.Unmarshal(body, &list) == nil && len(list) > 0:
		return readError(list[0], depth-1)
	}
	var w wireError
	if json.Unmarshal(body, &w) != nil {
		return api.Failure{}
	}
	f := w.own(depth)
	inner := readError(w.inner(), depth-1)
	f.Message, f.Code = cmp.Or(inner.Message, f.Message), cmp.Or(inner.Code, f.Code)
	f.Status = cmp.Or(inner.Status, f.Status)
	return f
}

// inner returns the error within this one.
func (w *wireError) inner() json.RawMessage {
	switch {
	case !noError(w.Error):
		return w.Error
	case !noError(w.Errors):
		return w.Errors
	case w.Groq != nil && !noError(w.Groq.Error):
		return w.Groq.Error
	case len(w.Choices) > 0:
		return w.Choices[0].Error
	}
	return nil
}

// own returns what this level says.
func (w *wireError) own(depth int) api.Failure {
	f := api.Failure{Code: w.Type, Message: w.Msg, RequestID: w.RequestID, Status: errorStatus(w.StatusCode)}
	for _, raw := range []json.RawMessage{w.Detail, w.Message} {
		f.Message = cmp.Or(readError(raw, depth-1).Message, f.Message)
	}
	var code string
	_ = json.Unmarshal(w.Code, &code) // anything but a string is no code
	f.Code = cmp.Or(code, f.Code)
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
