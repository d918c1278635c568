//go:build unix

package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// What servers say of their models is kept, what the user says comes first, and the default model
// stays. A budget in dollars works with a model whose prices only the user knows.
func TestV3_ModelsOfServersAndUsers(t *testing.T) {
	t.Parallel()
	list := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/models") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"id":"acme/newest","context_length":5000,"supported_parameters":["reasoning"]}]}`)
	}))
	t.Cleanup(list.Close)
	url, server := serve(t, nil, fakellm.Turn{Text: "done"})
	home := t.TempDir()
	run := func(want string, code int, env []string, args ...string) {
		t.Helper()
		cmd := attractorCommand(t, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(append(cmd.Env, "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME="), env...)
		out := runCommand(t, cmd)
		if out.code != code || !strings.Contains(out.stdout+out.stderr, want) {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q, want %q", args, out.code, out.stdout, out.stderr, want)
		}
	}
	lists := []string{"OPENROUTER_BASE_URL=" + list.URL + "/v1", "OPENROUTER_API_KEY=key-of-a-test"}
	run("acme/newest", 0, lists, "models", "--provider", "openrouter")
	at := []string{"models", "--provider", "openai-compatible", "--base-url"}
	run("acme/newest", 0, nil, append(at, list.URL+"/v1")...)
	run("acme/newest", 0, []string{"ATTRACTOR_PROVIDER=vllm", "ATTRACTOR_BASE_URL=" + list.URL + "/v1"}, "models",
		"--provider", "vllm")
	run("must begin with http:// or https://, followed by a host", exitUsage, nil, append(at, "localhost:8000")...)
	run("\nStart the server (vllm serve MODEL", exitLater, []string{"VLLM_BASE_URL=" + unusedURL + "/v1"}, "models",
		"--provider", "vllm")
	run("--base-url needs --provider", exitUsage, nil, "models", "--base-url", list.URL)
	run("openrouter: 1 models, of 1 windows or prices", 0, lists, "models", "update")
	run("acme/newest                                         5000", 0, nil, "models", "--provider", "openrouter")
	run("anthropic/claude-sonnet-5.5", 0,
		[]string{"OPENROUTER_BASE_URL=" + url + "/v1", "OPENROUTER_API_KEY=key-of-a-test"}, "run", "--yes", "go")
	vllm := []string{"VLLM_BASE_URL=" + url + "/v1"}
	priced := []string{"run", "--yes", "--provider", "vllm", "--model", "mine", "--budget-usd", "1", "go"}
	run("prices", exitUsage, vllm, priced...)
	own := filepath.Join(home, ".config/attractor/models.json")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		if err := os.WriteFile(own, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"id":"mine","provider":"vllm","context_window":65536,"prices":[{"input":1,"output":2}]}]`)
	run("done", 0, vllm, priced...)
	write(`[{"id":"mine","provider":"vllm","context_window":65536}]`)
	run(`The prices of the model "mine" of vllm are unknown`, 0, vllm, "run", "--yes", "--provider", "vllm", "--model",
		"mine", "go")
	write(`[{"id":"mine","provider":"vllm","context_windows":65536}]`)
	run("models.json", exitUsage, vllm, priced...)
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests, want those of three sessions", n)
	}
}
