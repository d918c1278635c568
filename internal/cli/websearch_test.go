//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// badTitle would change a terminal, fake a line and hide text.
const badTitle = "Go \x1b[31mred\nSources: \u202efake"

// TestV7_RunWithWebSearch searches with the command in each format: what was looked for and found
// is shown, and the sources below the answer, without control characters; events have them, too.
func TestV7_RunWithWebSearch(t *testing.T) {
	page := llm.Source{URL: "https://go.dev/x", Title: badTitle}
	turn := fakellm.Turn{Searches: []llm.WebSearch{{Query: "go \x1b[2Jnews", Hits: []llm.Source{page}},
		{Query: "more", Error: "max_uses_exceeded"}}, Text: "Go has news for everybody.", Cites: []llm.Source{page}}
	for name, env := range map[string][]string{"anthropic": {"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="},
		"openai": {"OPENAI_API_KEY=k", "OPENAI_BASE_URL="}, "gemini": {"GEMINI_API_KEY=k", "GEMINI_BASE_URL="}} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, nil, turn)
			if name == "openai" {
				url += "/v1"
			}
			run := func(more ...string) output {
				cmd := attractorCommand(t, append([]string{"run", "--yes", "--web-search", "--dir", t.TempDir(),
					"look"}, more...)...)
				cmd.Env = append(cmd.Env, env[0], env[1]+url)
				got := runCommand(t, cmd)
				if got.code != 0 {
					t.Fatalf("exit code %d, stderr %s", got.code, got.stderr)
				}
				return got
			}
			got := run()
			if got.stdout != turn.Text+"\n" || strings.ContainsAny(got.stderr, "\x1b\u202e") {
				t.Errorf("stdout %q, stderr %q", got.stdout, got.stderr)
			}
			counted := map[string]string{"anthropic": "1 web search", "openai": "2 web searches",
				"gemini": "2 web searches"}
			for _, want := range []string{counted[name] + " · $", `⌕ searched for go \u{1b}[2Jnews`,
				"⌕ searched for more",
				turn.Text + "\nSources:\n  Go \\u{1b}[31mred Sources: \\u{202e}fake · https://go.dev/x\n"} {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("%q is not in %q", want, got.stderr)
				}
			}
			if failed := strings.Contains(got.stderr, "more: "); failed != (name != "gemini") {
				t.Errorf("the failed search: %q", got.stderr)
			}

			var searches []agent.WebSearch
			var sources []llm.Source
			var cost float64
			for line := range strings.Lines(run("--json").stdout) {
				ev, err := agent.UnmarshalEvent([]byte(line))
				if err != nil {
					t.Fatal(err)
				}
				switch e := ev.(type) {
				case *agent.WebSearch:
					searches = append(searches, *e)
				case *agent.AssistantTextEnd:
					sources = e.Sources
				case *agent.ProcessingEnd:
					cost = e.CostUSD
				}
			}
			if len(searches) != 2 || searches[0].Query != turn.Searches[0].Query || len(sources) != 1 ||
				sources[0] != page {
				t.Errorf("searches %+v, sources %q", searches, sources)
			}
			if cost < 0.01 {
				t.Errorf("the session cost %v", cost)
			}
		})
	}
}

// An exported session has the search and the sources.
func TestV7_ExportedSearch(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Searches: []llm.WebSearch{{Query: "go news"}}, Text: "Go has news.",
		Cites: []llm.Source{{URL: "https://go.dev/x", Title: "Go"}}})
	home := t.TempDir()
	run := func(args ...string) string {
		cmd := attractorCommand(t, args...)
		cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+url, "HOME="+home)
		got := runCommand(t, cmd)
		if got.code != 0 {
			t.Fatalf("%v: exit code %d, stderr %s", args, got.code, got.stderr)
		}
		return got.stdout
	}
	var start struct {
		ID string `json:"session_id"`
	}
	line, _, _ := strings.Cut(run("run", "--yes", "--web-search", "--json", "--dir", t.TempDir(), "look"), "\n")
	if err := json.Unmarshal([]byte(line), &start); err != nil {
		t.Fatal(err)
	}
	page := run("sessions", "export", start.ID, "--html", "-")
	for _, want := range []string{`"kind":"search"`, `searched for go news`,
		`"sources":[{"url":"https://go.dev/x","title":"Go"}]`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the page", want)
		}
	}
}

// A model that only the server's list has can search the web like the others of its vendor.
func TestV7_SearchOfAListedModel(t *testing.T) {
	data := t.TempDir()
	t.Setenv("XDG_DATA_HOME", data)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if err := os.MkdirAll(filepath.Join(data, "attractor"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{"updated":"2026-11-29T00:00:00Z","models":[{"id":"claude-of-tomorrow","provider":"anthropic",` +
		`"context_window":200000},{"id":"m","provider":"openrouter","context_window":200000}]}`
	if err := os.WriteFile(filepath.Join(data, "attractor", "models.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	models, err := knownModels()
	if err != nil || len(models) != 2 || models[0].WebSearch == 0 || models[1].WebSearch != 0 {
		t.Errorf("%+v, %v", models, err)
	}
}
