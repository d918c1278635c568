package anthropic

import (
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

// decodeError decodes {"type":"error","error":{"type":"...","message":"..."},"request_id":"..."},
// the form of error bodies and of error events. The type decides the kind, whatever the status,
// which events do not have. Type invalid_request_error stands for several failures, such as too
// long a prompt or no credit, so package api also looks for known phrases in the message.
func decodeError(body []byte) api.Failure {
	f := api.DecodeError(body)
	f.Kind = errorKind(f.Code)
	return f
}

func errorKind(code string) error {
	switch code {
	case "invalid_request_error":
		return llm.ErrInvalidRequest
	case "authentication_error":
		return llm.ErrAuthentication
	case "billing_error":
		return llm.ErrQuota
	case "permission_error":
		return llm.ErrAccessDenied
	case "not_found_error":
		return llm.ErrNotFound
	case "request_too_large":
		return llm.ErrContextLength
	case "rate_limit_error":
		return llm.ErrRateLimit
	case "timeout_error":
		return llm.ErrTimeout
	case "overloaded_error":
		return llm.ErrOverloaded
	case "api_error", "internal_error":
		return llm.ErrServer
	}
	return nil
}
