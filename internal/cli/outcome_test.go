//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A session whose model call failed for good is kept. The message says what to check, and how to go
// on.
func TestJ11_FailedModelCallsSayWhatToDo(t *testing.T) {
	for status, want := range map[int]struct {
		code  int
		check string
	}{
		400: {exitFailed, ""},
		401: {exitAccess, "Check the API key in the environment: ANTHROPIC_API_KEY."},
		404: {exitFailed, "Check the name of the model, and the URL: for openai it ends in /v1."},
	} {
		url, _ := serve(t, map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: status}}, say("done"))
		h := newHome(t, url)
		out := h.run(want.code, "run", "--yes", "--base-url", url, "do it")
		if !strings.Contains(out.stderr, want.check) {
			t.Errorf("%d: %s", status, out.stderr)
		}
		_, rest, ok := strings.Cut(strings.TrimSpace(out.stderr), "To continue the session, run: attractor ")
		if !ok {
			t.Fatalf("%d: %s", status, out.stderr)
		}
		if again := h.run(0, append(strings.Fields(rest), "--yes")...); again.stdout != "done\n" {
			t.Errorf("%d, resumed: %q, %s", status, again.stdout, again.stderr)
		}
	}
}

// A server of the user's own is reached with its address alone, and the command that continues a
// session names it: a session does not keep the URL, and without it the conversation would go
// elsewhere.
func TestJ11_SessionsOfALocalServerStayThere(t *testing.T) {
	refused := map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 400}}
	url, _ := serve(t, refused)
	out := newHome(t, url).run(exitFailed, "run", "--yes", "--provider", "ollama", "--model", "m", "--base-url", url,
		"do it")
	if !strings.Contains(out.stderr, "The model has to support tools") {
		t.Errorf("a refused request: %s", out.stderr)
	}
	missing := map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 404}}
	for name, flags := range map[string]struct {
		provider, path, check string
	}{
		"ollama": {"ollama", "",
			"Check the name of the model (attractor models --provider ollama), and the server's address (OLLAMA_HOST " +
				"or --base-url)."},
		"a vendor's format": {"openai-compatible", "/v1", "Check the name of the model (attractor models --provider " +
			"openai-compatible --base-url URL), and the server's address (OPENAI_COMPATIBLE_BASE_URL or --base-url): " +
			"it ends in /v1."},
	} {
		url, _ := serve(t, missing, say("done"))
		h := newHome(t, url)
		out := h.run(exitFailed, "run", "--yes", "--provider", flags.provider, "--model", "m", "--base-url",
			url+flags.path, "do it")
		_, rest, ok := strings.Cut(strings.TrimSpace(out.stderr), "To continue the session, run: attractor ")
		if !ok || !strings.Contains(out.stderr, flags.check) ||
			!strings.HasSuffix(rest, " --base-url "+url+flags.path) {
			t.Fatalf("%s: %s", name, out.stderr)
		}
		if again := h.run(0, append(strings.Fields(rest), "--yes")...); again.stdout != "done\n" {
			t.Errorf("%s, resumed: %q, %s", name, again.stdout, again.stderr)
		}
	}
	h := newHome(t, "")
	models := h.command("models", "--provider", "ollama")
	models.Env = append(models.Env, "OLLAMA_HOST=127.0.0.1:1")
	if out := runCommand(t, models); out.code != exitLater || out.stdout != "" || !strings.Contains(out.stderr,
		"Start the server (ollama serve)") {
		t.Errorf("models of ollama: %q, %q", out.stdout, out.stderr)
	}
}

func TestJ11_PasswordsOfURLsAreNotRepeated(t *testing.T) {
	given := func(string) bool { return true }
	for url, want := range map[string]string{
		"http://gpu.lan:8000/v1":    " --base-url http://gpu.lan:8000/v1",
		"http://gpu.lan/v1?a=1&b=2": " --base-url 'http://gpu.lan/v1?a=1&b=2'",
		"http://me:word@gpu.lan/v1": " --base-url URL",
	} {
		var f sessionFlags
		f.settings = settings.Choose([]settings.Value{{Key: "base_url", Text: []string{url}}}, false)
		if got := f.serverFlag(given); got != want {
			t.Errorf("%s: %q", url, got)
		}
	}
}
