package llm_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// kinds lists every kind with its name and whether it is retryable.
var kinds = []struct {
	kind  error
	name  string
	again bool
}{
	{llm.ErrAuthentication, "authentication", false}, {llm.ErrAccessDenied, "access_denied", false},
	{llm.ErrNotFound, "not_found", false},
	{llm.ErrInvalidRequest, "invalid_request", false}, {llm.ErrRateLimit, "rate_limit", true},
	{llm.ErrQuota, "quota", false},
	{llm.ErrServer, "server", true}, {llm.ErrOverloaded, "overloaded", true}, {llm.ErrContentFilter, "content_filter",
		false},
	{llm.ErrContextLength, "context_length", false}, {llm.ErrTimeout, "timeout", true},
	{llm.ErrAborted, "aborted", false},
	{llm.ErrNetwork, "network", true}, {llm.ErrStream, "stream", true}, {llm.ErrConfiguration, "configuration", false},
	{llm.ErrNoObject, "no_object", false}, {llm.ErrUnsupported, "unsupported", false},
}

func TestG5_Kinds(t *testing.T) {
	for _, k := range kinds {
		err := fmt.Errorf("calling: %w", &llm.Error{Kind: k.kind, Err: io.ErrUnexpectedEOF})
		if !errors.Is(err, k.kind) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: errors.Is does not find the kind or the cause", k.name)
		}
		if got := llm.KindOf(err); got != k.name {
			t.Errorf("KindOf = %q, want %q", got, k.name)
		}
		if got := llm.KindNamed(k.name); got != k.kind {
			t.Errorf("Kind(%q) = %v", k.name, got)
		}
		if got := llm.Retryable(err); got != k.again {
			t.Errorf("%s: retryable %v", k.name, got)
		}
		if llm.Retryable(&llm.Error{Kind: k.kind, Final: true}) {
			t.Errorf("%s: final and retryable", k.name)
		}
		for _, other := range kinds {
			if other.kind != k.kind && errors.Is(err, other.kind) {
				t.Errorf("%s is %s", k.name, other.name)
			}
		}
	}
	if llm.KindOf(io.EOF) != "error" || llm.KindOf(&llm.Error{}) != "error" || llm.KindNamed("error") != nil ||
		llm.Retryable(io.EOF) || llm.Retryable(nil) {
		t.Error("errors of other packages")
	}
}

func TestG5_ErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  llm.Error
		want string
	}{
		{llm.Error{Kind: llm.ErrRateLimit, Provider: "p", Message: "slow down", Status: 429, Code: "rate_limit_error"},
			"p: slow down (rate limit, HTTP 429)"},
		{llm.Error{Kind: llm.ErrInvalidRequest, Message: "no", Code: "bad_image"}, "no (invalid request, bad_image)"},
		{llm.Error{Kind: llm.ErrNetwork, Err: io.ErrUnexpectedEOF}, "unexpected EOF (network)"},
		{llm.Error{}, "the call failed"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if e := llm.Errorf(llm.ErrServer, "%d down", 3); e.Error() != "3 down (server)" || e.Kind != llm.ErrServer {
		t.Errorf("%v", e)
	}
}
