package anthropic_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestE1_Session and TestE2_Session run whole sessions over HTTP. Only the model is scripted.
func TestE1_Session(t *testing.T) {
	playSession(t, anthropic.Profile(), "own", "write_file", "shell")
}

func TestE2_Session(t *testing.T) {
	playSession(t, anthropic.Native(), "native", "Write", "Bash")
}

// playSession has the model write a file and run a command, and compares the first request with a
// golden file.
func playSession(t *testing.T, p profile.Profile, golden, write, run string) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands on Windows")
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"AGENTS.md": "Run the tests.\n", "CLAUDE.md": "Be exact.\n",
		"GEMINI.md": "Not for you.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: write,
			Args: json.RawMessage(`{"file_path":"src/a.txt","content":"one\n"}`)}}},
		fakellm.Turn{Calls: []fakellm.Call{{Name: run,
			Args: json.RawMessage(`{"command":"cat src/a.txt && exit 3"}`)}}},
		fakellm.Turn{Text: "Done."}), fakellm.Options{})
	local, text := submit(t, server, p, dir)
	if text != "Done." {
		t.Errorf("the answer is %q", text)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "src/a.txt")); err != nil || string(got) != "one\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
	requests := server.Requests()
	if len(requests) != 3 {
		t.Fatalf("there were %d requests", len(requests))
	}
	last := requests[2].Messages[len(requests[2].Messages)-1]
	result, ok := last.Parts[0].(llm.ToolResult)
	if !ok || !strings.Contains(result.Content.Text(), "one") ||
		!regexp.MustCompile(`(?i)exit code:? 3`).MatchString(result.Content.Text()) {
		t.Errorf("the command's result is %+v", last.Parts)
	}
	compareGolden(t, filepath.Join("testdata", golden+".golden"), requests[0], strings.NewReplacer(
		local.WorkDir(), "$WORK", dir, "$WORK", local.Platform().OS+"/"+local.Platform().Arch, "$PLATFORM",
		"OS version: "+local.Platform().Version, "OS version: $VERSION", "Today's date: 2026-11-21",
		"Today's date: $DATE"))
}

// submit runs a session of one input, and returns its answer.
func submit(t *testing.T, server *fakellm.Server, p profile.Profile, dir string) (*env.Local, string) {
	t.Helper()
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.New(context.Background(), agent.Options{
		ID: "session", Client: &llm.Client{Providers: []llm.Provider{provider}, Models: catalog.New().Get}, Profile: p,
		Env:          local,
		Instructions: "Answer in English.", Questions: &agent.Questions{}, Subagents: &agent.Subagents{},
		Now: func() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.Submit(context.Background(), "Write src/a.txt.")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := local.Close(); err != nil {
		t.Error(err)
	}
	return local, result.Text
}

// headers returns those headers of a request that the provider sets, sorted, without the key. Those
// of the HTTP client are left out, and so is the length, which depends on the directory.
func headers(h http.Header) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		switch name {
		case "Content-Length", "Accept-Encoding":
			continue
		case "X-Api-Key":
			value = "$KEY"
		}
		fmt.Fprintf(&b, "%s: %s\n", name, value)
	}
	return b.String()
}

// compareGolden compares a request with a file. The body is as it was sent, but indented.
func compareGolden(t *testing.T, file string, r *fakellm.Request, volatile *strings.Replacer) {
	t.Helper()
	var body bytes.Buffer
	if err := json.Indent(&body, r.Body, "", " "); err != nil {
		t.Fatal(err)
	}
	got := "POST " + r.Path + "\n" + headers(r.Header) + "\n" + volatile.Replace(body.String()) + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the first request (rewrite with -update, and read the difference):\n%s", diff)
	}
}
