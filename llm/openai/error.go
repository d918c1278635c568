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
	f.Kind = cmp.Or(errorKind(f.Code), errorKind(inner.Type))
	if f.Kind == nil && inBand && inner.Type == "invalid_request_error" {
		f.Kind = llm.ErrInvalidRequest // a body's status is more precise: the same type stands for a wrong key
	}
	if f.Code == "" && inner != &w { // the type of an event does not name the error
		f.Code = inner.Type
	}
	if f.Kind == llm.ErrRateLimit {
		f.RetryAfter = api.SaidDelay(f.Message, "try again in ") // an error within a stream has no header for it
	}
	return f
}

func errorKind(code string) error {
	switch code {
	case "invalid_api_key", "authentication_error", "invalid_authentication", "account_deactivated",
		"ip_not_authorized":
		return llm.ErrAuthentication
	case "permission_error", "insufficient_permissions", "unsupported_country_region_territory":
		return llm.ErrAccessDenied
	case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credit_balance_exhausted",
		"organization_spend_limit_exceeded", "project_spend_limit_exceeded", "organization_usage_limit_exceeded":
		return llm.ErrQuota
	case "rate_limit_exceeded", "rate_limit_error", "slow_down":
		return llm.ErrRateLimit
	case "context_length_exceeded":
		return llm.ErrContextLength
	case "model_not_found", "not_found_error":
		return llm.ErrNotFound
	case "content_filter", "content_policy_violation", "invalid_prompt", "image_content_policy_violation":
		return llm.ErrContentFilter
	case "request_timeout": // of a gateway whose own stream was cut, with the type of an invalid request
		return llm.ErrTimeout
	case "server_is_overloaded", "overloaded_error", "service_unavailable_error":
		return llm.ErrOverloaded
	case "server_error", "internal_error", "internal_server_error", "vector_store_timeout":
		return llm.ErrServer
	case "invalid_encrypted_content", "invalid_image", "invalid_image_format", "invalid_base64_image",
		"invalid_image_url",
		"invalid_image_mode", "image_too_large", "image_too_small", "image_parse_error", "image_file_too_large",
		"unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found":
		return llm.ErrInvalidRequest
	}
	return nil
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
