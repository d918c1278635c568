package api

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// CodeKind returns the kind of an error by its code or its type, in the words of Anthropic, OpenAI
// and the servers that speak their formats, and of google.rpc.Code. For others it returns nil, and
// the status decides.
func CodeKind(code string) error {
	switch strings.ToLower(code) {
	case "invalid_argument", "out_of_range",
		"invalid_request_error", "invalid_request", "bad_request", "badrequesterror", "tool_use_failed",
		"invalid_encrypted_content", "invalid_image", "invalid_image_format", "invalid_base64_image",
		"invalid_image_url", "invalid_image_mode", "image_too_large", "image_too_small", "image_parse_error",
		"image_file_too_large",
		"unsupported_image_media_type", "empty_image_file", "failed_to_download_image", "image_file_not_found":
		return llm.ErrInvalidRequest
	case "unauthenticated", "invalid_api_key", "authentication_error", "unauthorized", "invalid_authentication",
		"invalid_authentication_error", "account_deactivated", "ip_not_authorized":
		return llm.ErrAuthentication
	case "failed_precondition", // Google's, for what is not available in this country or plan
		"permission_error", "permission_denied", "permissiondeniederror", "insufficient_permissions",
		"unsupported_country_region_territory":
		return llm.ErrAccessDenied
	case "insufficient_quota", "exceeded_current_quota_error", "insufficient_balance", "billing_error",
		"billing_hard_limit_reached", "billing_not_active", "credit_balance_exhausted",
		"organization_spend_limit_exceeded",
		"project_spend_limit_exceeded", "organization_usage_limit_exceeded":
		return llm.ErrQuota
	case "not_found", "model_not_found", "not_found_error", "notfounderror":
		return llm.ErrNotFound
	case "resource_exhausted", "rate_limit_exceeded", "rate_limit_error", "rate_limit_reached_error", "ratelimiterror",
		"too_many_requests", "slow_down":
		return llm.ErrRateLimit
	case "context_length_exceeded", "exceed_context_size_error", "context_window_exceeded",
		"model_context_window_exceeded", "request_too_large":
		return llm.ErrContextLength
	case "content_filter", "content_policy_violation", "image_content_policy_violation", "invalid_prompt",
		"moderation_error", "data_inspection_failed":
		return llm.ErrContentFilter
	case "unavailable", "overloaded_error", "overloaded", "engine_overloaded_error", "server_is_overloaded",
		"service_unavailable", "service_unavailable_error", "serviceunavailableerror":
		return llm.ErrOverloaded
	case "deadline_exceeded", "timeout_error", "timeout",
		"request_timeout": // a gateway's, whose own stream was cut
		return llm.ErrTimeout
	case "unimplemented":
		return llm.ErrUnsupported
	case "internal", "unknown", "aborted", "cancelled", "data_loss",
		"server_error", "api_error", "internal_error", "internal_server_error", "internalservererror",
		"vector_store_timeout":
		return llm.ErrServer
	}
	return nil
}
