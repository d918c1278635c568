package providers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

func environment(vars ...string) func(string) string {
	return func(name string) string {
		for _, v := range vars {
			if key, value, _ := strings.Cut(v, "="); key == name {
				return value
			}
		}
		return ""
	}
}

func TestG2_FromEnv(t *testing.T) {
	tests := []struct {
		name string
		vars []string
		want string // the providers
		main string // the default provider; empty for an error
	}{
		{"nothing", nil, "", ""},
		{"one key", []string{"OPENAI_API_KEY=k"}, "openai", "openai"},
		{"the other name of a key", []string{"GOOGLE_API_KEY=k"}, "gemini", "gemini"},
		{"a server that needs no key", []string{"ANTHROPIC_BASE_URL=http://localhost:1"}, "anthropic", "anthropic"},
		{"a compatible server", []string{"OPENAI_COMPATIBLE_BASE_URL=http://localhost:1/v1"}, "openai-compatible", "openai-compatible"},
		{"several keys are no guess", []string{"OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k", "GEMINI_API_KEY=k"}, "anthropic openai gemini", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			client, err := providers.FromEnv(environment(tt.vars...))
			if tt.want == "" {
				if !errors.Is(err, llm.ErrConfiguration) || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
					t.Errorf("FromEnv = %v, want an error that names the variables", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, p := range client.Providers {
				names = append(names, p.Name())
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("providers %q, want %q", got, tt.want)
			}
			p, err := client.Provider("")
			if tt.main == "" && !errors.Is(err, llm.ErrConfiguration) || tt.main != "" && (err != nil || p.Name() != tt.main) {
				t.Errorf("the default provider is %v, %v, want %q", p, err, tt.main)
			}
			if m, ok := client.Models("anthropic", "claude-opus-5-5"); !ok || m.Window == 0 {
				t.Error("the client does not know the catalog")
			}
		})
	}
	if _, err := providers.FromEnv(environment("OPENAI_BASE_URL=::")); !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("a bad base URL: %v", err)
	}
	if _, err := providers.Find("acme"); !errors.Is(err, llm.ErrConfiguration) || !strings.Contains(err.Error(), "gemini") {
		t.Errorf("an unknown provider: %v", err)
	}
}
