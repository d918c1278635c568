package anthropic

import "github.com/attractor-go/attractor/llm/internal/api"

// decodeError decodes {"type":"error","error":{"type":"...","message":"..."},"request_id":"..."},
// the form of error bodies and of error events. The type decides the kind, whatever the status,
// which events do not have. Type invalid_request_error stands for several failures, such as too
// long a prompt or no credit, so package api also looks for known phrases in the message.
func decodeError(body []byte) api.Failure {
	f := api.DecodeError(body)
	f.Kind = api.CodeKind(f.Code)
	return f
}
