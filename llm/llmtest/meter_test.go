package llmtest_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestMeter(t *testing.T) {
	const first = `{"system":"s","tools":[{"name":"a","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"text":"hi","cache_control":{"type":"ephemeral"}}]}],"max_tokens":1}`
	tests := []struct {
		name, second, want string // want is part of the break; empty for none
	}{
		{"more messages", `{"system":"s","tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"text":"hi"}]},{"role":"assistant"}],"max_tokens":2}`, ""},
		{"more in the last message",
			`{"system":"s","tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"text":"hi"},{"text":"you"}]}]}`, ""},
		{"the same again", first, ""},
		{"another system prompt",
			`{"system":"t","tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
			"system prompt"},
		{"another tool", `{"system":"s","tools":[{"name":"b"}],"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
			"tools"},
		{"a changed message", `{"system":"s","tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"text":"ho"}]}]}`, "messages differ"},
		{"the same message in other bytes",
			`{"system":"s","tools":[{"name":"a"}],"messages":[{"role":"user", "content":[{"text":"hi"}]}]}`,
			"messages differ"},
		{"no JSON", `{`, "no JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := llmtest.NewMeter(http.NotFoundHandler())
			for _, body := range []string{first, tt.second} {
				m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", strings.NewReader(body)))
			}
			breaks := strings.Join(m.Breaks(), "\n")
			if tt.want == "" && breaks != "" || !strings.Contains(breaks, tt.want) || m.Requests() != 2 {
				t.Errorf("after %d requests: %q, want %q", m.Requests(), breaks, tt.want)
			}
		})
	}
}
