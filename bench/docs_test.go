package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// The programs with fantasy in docs/coming-from/fantasy.md run, and print what the page says.
func TestQ4_FantasyInDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/coming-from/fantasy.md")
	if err != nil {
		t.Fatal(err)
	}
	programs := strings.Split(string(page), "```go fantasy\n")[1:]
	if len(programs) != 2 {
		t.Fatalf("the page has %d programs", len(programs))
	}
	for i, c := range []struct {
		turns []fakellm.Turn
		want  string
	}{
		{[]fakellm.Turn{called("I look.", "ticket", `{"key":"OPS-17"}`), {Text: "Saving large orders times out."},
			{Text: "Timeouts."}},
			"I look.[ticket]\nSaving large orders times out.\nTimeouts.\n"},
		{[]fakellm.Turn{called("", "generate_object", `{"name":"Alice","age":30}`)}, "Alice 30\n"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			server := httptest.NewServer(fakellm.New(fakellm.Script(c.turns...), fakellm.Options{}))
			defer server.Close()
			code, rest, _ := strings.Cut(programs[i], "```\n")
			if !strings.Contains(rest, strings.TrimSpace(c.want)) {
				t.Errorf("the page does not have the output %q", c.want)
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "run", file)
			cmd.Env = append(os.Environ(), "ANTHROPIC_API_KEY=key-for-a-test", "ANTHROPIC_BASE_URL="+server.URL)
			if out, err := cmd.CombinedOutput(); err != nil || string(out) != c.want {
				t.Errorf("got %q, %v, want %q", out, err, c.want)
			}
		})
	}
}

func called(text, tool, args string) fakellm.Turn {
	return fakellm.Turn{Text: text, Calls: []fakellm.Call{{Name: tool, Args: json.RawMessage(args)}}}
}
