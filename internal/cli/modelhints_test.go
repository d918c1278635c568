package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

func TestI17_HintAboutCertificates(t *testing.T) {
	hint := modelHint(&llm.Error{Kind: llm.ErrNetwork, Provider: "anthropic", Final: true})
	if !strings.Contains(hint, "SSL_CERT_FILE") {
		t.Errorf("the hint %q", hint)
	}
}

func TestI17_HintAboutTooManyBytes(t *testing.T) {
	hint := modelHint(&llm.Error{Kind: llm.ErrContextLength, Provider: "anthropic", Status: 413})
	if !strings.Contains(hint, "raise its limit") || !strings.Contains(hint, "--fork") {
		t.Errorf("the hint %q", hint)
	}
	if hint := modelHint(&llm.Error{Kind: llm.ErrContextLength, Provider: "anthropic",
		Status: 400}); strings.Contains(hint, "bytes") {
		t.Errorf("the hint about a window: %q", hint)
	}
}
