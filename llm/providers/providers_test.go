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
		{"a compatible server", []string{"OPENAI_COMPATIBLE_BASE_URL=http://localhost:1/v1"}, "openai-compatible",
			"openai-compatible"},
		{"openrouter", []string{"OPENROUTER_API_KEY=k"}, "openrouter", "openrouter"},
		{"a server on this machine is no choice", []string{"OLLAMA_HOST=0.0.0.0", "OPENAI_API_KEY=k"}, "openai",
			"openai"},
		{"nothing but a server on this machine", []string{"OLLAMA_HOST=0.0.0.0"}, "", ""},
		{"several keys are no guess", []string{"OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=k", "GEMINI_API_KEY=k"},
			"anthropic openai gemini", ""},
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
			if tt.main == "" && !errors.Is(err, llm.ErrConfiguration) || tt.main != "" &&
				(err != nil || p.Name() != tt.main) {
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
	if _, err := providers.Find("acme"); !errors.Is(err, llm.ErrConfiguration) || !strings.Contains(err.Error(),
		"gemini") {
		t.Errorf("an unknown provider: %v", err)
	}
}

// The variable OLLAMA_HOST has every form that Ollama accepts.
func TestN8_OllamaHost(t *testing.T) {
	kind, err := providers.Find("ollama")
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"":                             "http://localhost:11434/v1",
		"gpu.lan":                      "http://gpu.lan:11434/v1",
		"gpu.lan:1234":                 "http://gpu.lan:1234/v1",
		":1234":                        "http://localhost:1234/v1",
		"0.0.0.0":                      "http://localhost:11434/v1",
		"0.0.0.0:1234":                 "http://localhost:1234/v1",
		"[::]:1234":                    "http://localhost:1234/v1",
		"::1":                          "http://[::1]:11434/v1",
		"[::1]":                        "http://[::1]:11434/v1",
		"[fe80::2]:1234":               "http://[fe80::2]:1234/v1",
		`"127.0.0.1:1234" `:            "http://127.0.0.1:1234/v1",
		"http://gpu.lan":               "http://gpu.lan/v1",
		"https://[2001:db8::1]/":       "https://[2001:db8::1]/v1",
		"http://gpu.lan:1234/":         "http://gpu.lan:1234/v1",
		"https://models.corp/ollama":   "https://models.corp/ollama/v1",
		"http://localhost:11434/v1":    "http://localhost:11434/v1",
		"https://models.corp/x/v1/":    "https://models.corp/x/v1",
		"http://user:pass@gpu.lan:123": "http://user:pass@gpu.lan:123/v1",
		"https://user:p@[::1]":         "https://user:p@[::1]/v1",
	} {
		config, set := kind.Config(environment("OLLAMA_HOST=" + host))
		if config.BaseURL != want || !set {
			t.Errorf("OLLAMA_HOST=%s means %s, %v, want %s", host, config.BaseURL, set, want)
		}
		if _, err := kind.New(config); err != nil {
			t.Errorf("OLLAMA_HOST=%s: %v", host, err)
		}
	}
	config, _ := kind.Config(environment("OLLAMA_HOST=ftp://x"))
	if _, err := kind.New(config); !errors.Is(err, llm.ErrConfiguration) {
		t.Errorf("a URL of another kind: %v", err)
	}
}

// A preset needs what its vendor needs, and nothing is sent elsewhere.
func TestN8_PresetsNeed(t *testing.T) {
	openrouter, err := providers.Find("openrouter")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openrouter.New(providers.Config{}); !errors.Is(err, llm.ErrConfiguration) ||
		!strings.Contains(err.Error(), "OPENROUTER_API_KEY") {
		t.Errorf("without a key: %v", err)
	}
	if names := strings.Join(providers.Variables(), " "); !strings.Contains(names, "OPENROUTER_API_KEY") ||
		strings.Contains(names, "OLLAMA") {
		t.Errorf("the variables to choose from are %s", names)
	}
}
