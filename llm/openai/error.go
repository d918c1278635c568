package openai

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// wireError is an error in any of its forms: a body {"error":{...}}, an event {"type":"error"} with
// the members in it or in "error", or a failed response, alone or in its event.
type wireError struct {
	Type     string          `json:"type"`
	Object   string          `json:"object"`
	Code     json.RawMessage `json:"code"` // a string, a number or null
	Message  string          `json:"message"`
	Error    *wireError      `json:"error"`
	Response *wireError      `json:"response"`
}

// decodeError decodes all forms. The code decides the kind, else the type, whatever the status,
// which events do not have.
func decodeError(body []byte) api.Failure {
	var w wireError
	if json.Unmarshal(body, &w) != nil {
		return api.DecodeError(body) // {"error":"text"}, or not JSON
	}
	inBand := w.Type == "error" || w.Type == "response.failed" || w.Object == "response"
	inner := cmp.Or(w.Response, &w)
	inner = cmp.Or(inner.Error, inner)
	f := api.Failure{Message: inner.Message}
	_ = json.Unmarshal(inner.Code, &f.Code) // anything but a string is no code
	f.Kind = cmp.Or(api.CodeKind(f.Code), api.CodeKind(inner.Type))
	if f.Kind == llm.ErrInvalidRequest && !inBand {
		f.Kind = nil // a body's status is more precise: the same type stands for a wrong key
	}
	if f.Code == "" && inner != &w { // the type of an event does not name the error
		f.Code = inner.Type
	}
	if f.Kind == llm.ErrRateLimit {
		f.RetryAfter = api.SaidDelay(f.Message, "try again in ") // an error within a stream has no header for it
	}
	return f
}

// bareError recognizes an error that is neither an event nor a response. It returns it as an
// in-band error.
func bareError(data []byte, inner json.RawMessage) (api.InBandError, bool) {
	data = bytes.TrimSpace(data)
	if api.IsNull(inner) || len(data) == 0 || data[0] != '{' {
		return nil, false
	}
	return append([]byte(`{"type":"error",`), data[1:]...), true
}
