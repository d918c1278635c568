package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	wire "github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/openai"
	"github.com/attractor-go/attractor/tool"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

const addHello = "*** Begin Patch\n*** Add File: src/hello.txt\n+Hello.\n*** End Patch\n"

// play runs a session over HTTP in a fresh directory, and returns the directory, the server and the
// session's result.
func play(t *testing.T, p profile.Profile, o agent.Options,
	model fakellm.Model) (string, *fakellm.Server, *agent.Result) {
	t.Helper()
	server := fakellm.New(model, fakellm.Options{})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: web.URL + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "Be kind.\n", ".codex/instructions.md": "Be brief.\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.ID, o.Profile, o.Env = "session", p, local
	o.Client = &llm.Client{Providers: []llm.Provider{provider}, Models: catalog.New().Get}
	o.Now = func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }
	session, err := agent.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := session.Submit(context.Background(), "Write src/hello.txt.")
	if err != nil {
		t.Error(err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := local.Close(); err != nil {
		t.Error(err)
	}
	return dir, server, result
}

func object(t *testing.T, value any) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// result returns the text of a call's result.
func result(t *testing.T, server *fakellm.Server, callID string) string {
	t.Helper()
	requests := server.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok && r.CallID == callID {
				return r.Content.Text()
			}
		}
	}
	t.Fatalf("no result for %s", callID)
	return ""
}

func TestE1_SessionPatchesAndRuns(t *testing.T) {
	patch := object(t, map[string]string{"patch": addHello})
	dir, server, done := play(t, openai.Profile(), agent.Options{}, fakellm.Script(
		fakellm.Turn{Thinking: "A patch.", Calls: []fakellm.Call{{ID: "call_patch", Name: "apply_patch", Args: patch}}},
		fakellm.Turn{Calls: []fakellm.Call{
			{ID: "call_read", Name: "read_file", Args: object(t, map[string]string{"file_path": "src/hello.txt"})},
			{ID: "call_run", Name: "shell",
				Args: object(t, map[string]string{"command": "wc -c < src/hello.txt; exit 3"})}}},
		fakellm.Turn{Text: "Done."}))
	if data, err := os.ReadFile(filepath.Join(dir, "src/hello.txt")); err != nil || string(data) != "Hello.\n" {
		t.Errorf("%q, %v", data, err)
	}
	for id, want := range map[string]string{"call_patch": "A src/hello.txt", "call_read": "1 | Hello.",
		"call_run": "7\nExit code: 3"} {
		if got := result(t, server, id); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if done.Text != "Done." {
		t.Errorf("%+v", done)
	}
	golden(t, "own", dir, server)
}

func TestE2_NativeSessionPatchesAndRuns(t *testing.T) {
	run := func(id, name string, args map[string]any) fakellm.Call {
		return fakellm.Call{ID: id, Name: name, Args: object(t, args)}
	}
	turns := []fakellm.Turn{
		{Thinking: "A patch.", Calls: []fakellm.Call{
			run("call_plan", "update_plan",
				map[string]any{"plan": []any{map[string]any{"step": "patch", "status": "in_progress"}}}),
			{ID: "call_patch", Name: "apply_patch", Raw: addHello}}},
		{Calls: []fakellm.Call{
			run("call_run", "exec_command", map[string]any{"cmd": "cat hello.txt; exit 3", "workdir": "src"}),
			run("call_long", "exec_command", map[string]any{"cmd": "read -r line; echo got $line", "tty": true,
				"yield_time_ms": 250})}},
	}
	running := regexp.MustCompile(`session ID (\d+)`)
	model := func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() != len(turns) {
			return fakellm.Script(append(turns, fakellm.Turn{}, fakellm.Turn{Text: "Done."})...)(r)
		}
		found := running.FindSubmatch(r.Body)
		if found == nil {
			return fakellm.Turn{Text: "No session ID came back."}
		}
		return fakellm.Turn{Calls: []fakellm.Call{run("call_write", "write_stdin",
			map[string]any{"session_id": json.RawMessage(found[1]), "chars": "it\n", "yield_time_ms": 30_000})}}
	}
	dir, server, done := play(t, openai.Native(), agent.Options{}, model)
	if data, err := os.ReadFile(filepath.Join(dir, "src/hello.txt")); err != nil || string(data) != "Hello.\n" {
		t.Errorf("%q, %v", data, err)
	}
	for id, want := range map[string]string{"call_plan": "Plan updated", "call_patch": "A src/hello.txt",
		"call_run":  "Process exited with code 3\nOriginal token count: 2\nOutput:\nHello.\n",
		"call_long": "Process running with session ID ", "call_write": "got it\n"} {
		if got := result(t, server, id); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if done.Text != "Done." {
		t.Errorf("%+v", done)
	}
	golden(t, "native", dir, server)
}

func TestE2_NativeQuestions(t *testing.T) {
	one := map[string]any{"id": "db", "header": "Store", "question": "Which one?", "options": []any{
		map[string]any{"label": "SQLite", "description": "One file."}, map[string]any{"label": "Postgres",
			"description": "A server."}}}
	two := map[string]any{"id": "log", "header": "Logs", "question": "Where to?", "options": []any{
		map[string]any{"label": "stderr", "description": "As now."}, map[string]any{"label": "a file",
			"description": "New."}}}
	var asked []tool.Question
	o := agent.Options{Questions: &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer,
		error) {
		asked = append(asked, q)
		return tool.Answer{Text: "the first"}, nil
	}}}
	call := func(id string, questions ...any) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{ID: id, Name: "request_user_input",
			Args: object(t, map[string]any{"questions": append([]any{}, questions...)})}}}
	}
	_, server, _ := play(t, openai.Native(), o, fakellm.Script(
		call("call_one", one), call("call_two", one, two), call("call_none"), fakellm.Turn{Text: "Done."}))
	want := []tool.Question{
		{CallID: "call_one", Text: "Store: Which one?\n   - SQLite: One file.\n   - Postgres: A server.",
			Options: []string{"SQLite", "Postgres"}},
		{CallID: "call_two", Text: "1. Store: Which one?\n   - SQLite: One file.\n   - Postgres: A server.\n2. Logs: " +
			"Where to?\n   - stderr: As now.\n   - a file: New."},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
	if got := result(t, server, "call_two"); got != "the first" {
		t.Errorf("the answer is %q", got)
	}
	if got := result(t, server, "call_none"); !strings.Contains(got, "ask 1 to 3") {
		t.Errorf("no question: %q", got)
	}
}

// golden compares the first request exactly, except for what differs between machines.
func golden(t *testing.T, name, dir string, server *fakellm.Server) {
	t.Helper()
	header := server.Requests()[0].Header.Clone()
	header.Del("Content-Length")
	header.Del("Accept-Encoding") // set by the HTTP client, as is the length
	if diff := cmp.Diff(http.Header{"Accept": {"text/event-stream, application/json"},
		"Content-Type": {"application/json"},
		"User-Agent":   {"attractor-go"}, "Authorization": {"Bearer test"}}, header); diff != "" {
		t.Errorf("the headers: -want +got\n%s", diff)
	}
	var body bytes.Buffer
	if err := json.Indent(&body, server.Requests()[0].Body, "", "  "); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`<environment>.*</environment>`).ReplaceAllString(body.String(), "$$ENVIRONMENT")
	got = strings.ReplaceAll(got, dir, "$WORK") + "\n"
	file := filepath.Join("testdata", name+".golden")
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
		t.Errorf("-want +got (run with -update to accept):\n%s", diff)
	}
}
