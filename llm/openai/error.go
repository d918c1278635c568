package openai

import (
	"bytes"
	"encoding/json"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// decodeError decodes an error. One in the middle of a response has no header for the delay.
func decodeError(body []byte) api.Failure {
	f := api.DecodeError(body)
	if f.Kind == llm.ErrRateLimit {
		f.RetryAfter = api.SaidDelay(f.Message, "try again in ")
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
