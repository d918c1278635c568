package openai

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
)

func TestG5_Errors(t *testing.T) {
	body := func(kind, code, message string) string {
		return `{"error":{"message":"` + message + `","type":"` + kind + `","param":null,"code":` + code + `}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		kind   error
		code   string
		retry  bool
		after  time.Duration
	}{
		"key": {401, body("invalid_request_error", `"invalid_api_key"`,
			"Incorrect API key provided: sk-1***"), llm.ErrAuthentication, "invalid_api_key", false, 0},
		"country": {403, body("request_forbidden", `"unsupported_country_region_territory"`, "x"),
			llm.ErrAccessDenied, "unsupported_country_region_territory", false, 0},
		"quota": {429, body("insufficient_quota", `"insufficient_quota"`, "You exceeded your current quota"),
			llm.ErrQuota, "insufficient_quota", false, 0},
		"spending limit": {429, body("insufficient_quota", `"something_limit_exceeded"`, "x"), llm.ErrQuota,
			"something_limit_exceeded", false, 0},
		"rate": {429, body("requests", `"rate_limit_exceeded"`, "Please try again in 20ms."),
			llm.ErrRateLimit, "rate_limit_exceeded", true, 20 * time.Millisecond},
		"rate, no time": {429, body("requests", `"rate_limit_exceeded"`, "Please try again in a while."),
			llm.ErrRateLimit, "rate_limit_exceeded", true, 0},
		"slow down": {429, body("rate_limit_error", `"slow_down"`, "x"), llm.ErrRateLimit, "slow_down", true, 0},
		"too large": {429, body("tokens", `"rate_limit_exceeded"`, "Request too large for gpt-x"),
			llm.ErrRateLimit, "rate_limit_exceeded", false, 0},
		"context": {400, body("invalid_request_error", `"context_length_exceeded"`, "x"), llm.ErrContextLength,
			"context_length_exceeded", false, 0},
		"context, prose": {400, body("invalid_request_error", `null`, "Your input exceeds the context window"),
			llm.ErrContextLength, "invalid_request_error", false, 0},
		"model": {404, body("invalid_request_error", `"model_not_found"`, "x"), llm.ErrNotFound,
			"model_not_found", false, 0},
		"model, 400": {400, body("invalid_request_error", `"model_not_found"`, "x"), llm.ErrNotFound,
			"model_not_found", false, 0},
		"policy": {400, body("invalid_request_error", `"content_policy_violation"`, "x"), llm.ErrContentFilter,
			"content_policy_violation", false, 0},
		"reasoning": {400, body("invalid_request_error", `"invalid_encrypted_content"`, "x"),
			llm.ErrInvalidRequest, "invalid_encrypted_content", false, 0},
		"a parameter": {400, body("invalid_request_error", `"unknown_parameter"`, "x"), llm.ErrInvalidRequest,
			"unknown_parameter", false, 0},
		"server": {500, body("server_error", `null`, "x"), llm.ErrServer, "server_error", true, 0},
		"overloaded": {503, body("service_unavailable_error", `"server_is_overloaded"`, "x"), llm.ErrOverloaded,
			"server_is_overloaded", true, 0},
		"a number": {400, body("t", `7`, "x"), llm.ErrInvalidRequest, "t", false, 0},
		"text":     {400, `{"error":"nope"}`, llm.ErrInvalidRequest, "", false, 0},
		"no JSON":  {502, `<html>`, llm.ErrServer, "", true, 0},
		"a proxy's type": {401, `{"type":"invalid_request_error","message":"m"}`, llm.ErrAuthentication,
			"invalid_request_error", false, 0},
		"a proxy's words": {429, `{"type":"x","message":"m"}`, llm.ErrRateLimit, "x", true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := answering(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("x-request-id", "req_1")
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			}))
			_, err := llm.Collect(p.Stream(t.Context(),
				&llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Code != c.code || llm.Retryable(err) != c.retry ||
				e.RetryAfter != c.after {
				t.Errorf("%v: code %q, retryable %v, after %v", err, e.Code, llm.Retryable(err), e.RetryAfter)
			}
			if e.Status != c.status || e.RequestID != "req_1" || e.Message == "" || string(e.Raw) != c.body {
				t.Errorf("%+v", e)
			}
		})
	}
}
