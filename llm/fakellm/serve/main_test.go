package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
)

// The greeting is no part of a script whose first turn has no text.
func TestJ11_ScriptBeginsWithACall(t *testing.T) {
	script := filepath.Join(t.TempDir(), "turns.json")
	if err := os.WriteFile(script, []byte(`[{"calls":[{"name":"shell"}]},{"text":"Done."}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	turns, err := readTurns(script)
	if err != nil || len(turns) != 2 || turns[0].Text != "" || turns[0].Calls[0].Name != "shell" ||
		turns[1].Text != "Done." {
		t.Errorf("readTurns = %+v, %v", turns, err)
	}
	if turns, err := readTurns(""); err != nil || len(turns) != 1 || turns[0].Text == "" {
		t.Errorf("without a script: %+v, %v", turns, err)
	}
}

func TestJ11_MistakesInAScript(t *testing.T) {
	for script, want := range map[string]string{
		`[{"txt":"Done."}]`:                        `unknown field "txt"`,
		`[{"calls":[{"name":"shell","arg":{}}]}]`:  `unknown field "arg"`,
		`[{"text":"Looking."}] [{"text":"Done."}]`: "after the end",
		`[{"text":"Done."},]`:                      "invalid character",
	} {
		name := filepath.Join(t.TempDir(), "turns.json")
		if err := os.WriteFile(name, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := readTurns(name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, want %q and the file", script, err, want)
		}
	}
}

// Each line that serve prints configures one provider, which reaches the model.
func TestJ11_VariablesLeadToTheModel(t *testing.T) {
	server := httptest.NewServer(fakellm.New(fakellm.Script(fakellm.Turn{Text: "Hello."}), fakellm.Options{}))
	defer server.Close()
	lines := 0
	for line := range strings.Lines(variables(server.Listener.Addr().String())) {
		lines++
		words := strings.Fields(line)
		if words[0] != "export" {
			t.Errorf("%q does not begin with export", line)
		}
		client, err := providers.FromEnv(func(name string) string {
			for _, word := range words[1:] {
				if is, value, _ := strings.Cut(word, "="); is == name {
					return value
				}
			}
			return ""
		})
		if err != nil {
			t.Errorf("%s%v", line, err)
			continue
		}
		got, err := client.Complete(t.Context(), &llm.Request{Model: "m-1", Messages: []llm.Message{llm.User("Hi.")}})
		if err != nil || len(client.Providers) != 1 || got.Text() != "Hello." {
			t.Errorf("%s%d providers, %+v, %v", line, len(client.Providers), got, err)
		}
	}
	if lines != 4 {
		t.Errorf("%d lines", lines)
	}
}
