package gemini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	wire "github.com/attractor-go/attractor/llm/gemini"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/gemini"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func call(t *testing.T, name string, args object) fakellm.Call {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return fakellm.Call{Name: name, Args: data}
}

// TestE1_Session and TestE2_Session run whole sessions over HTTP. Only the model is scripted.
func TestE1_Session(t *testing.T) {
	needCommands(t)
	playSession(t, gemini.Profile(), "own",
		call(t, "write_file", object{"file_path": "src/a.txt", "content": "one\ntwo\n"}),
		call(t, "edit_file", object{"file_path": "src/a.txt", "old_string": "two", "new_string": "three"}),
		call(t, "shell", object{"command": "cat src/a.txt && exit 3"}),
		"one\nthree\nExit code: 3")
}

func TestE2_Session(t *testing.T) {
	needCommands(t)
	playSession(t, gemini.Native(), "native",
		call(t, "write_file", object{"file_path": "src/a.txt", "content": "one\ntwo\n"}),
		call(t, "replace", object{"file_path": "src/a.txt", "instruction": "Count better.", "old_string": "two",
			"new_string": "three"}),
		call(t, "run_shell_command", object{"command": "cat a.txt && exit 3", "dir_path": "src"}),
		"<untrusted_context>\nOutput: one\nthree\nExit Code: 3\n</untrusted_context>")
}

// TestE2_InvokeAgent has one session hand a task to another.
func TestE2_InvokeAgent(t *testing.T) {
	play := func(name string) string {
		t.Helper()
		script := fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{call(t, "invoke_agent",
			object{"agent_name": name, "prompt": "Count the files."})}}, fakellm.Turn{Text: "Done."})
		server := fakellm.New(func(r *fakellm.Request) fakellm.Turn {
			if r.Messages[0].Parts.Text() == "Count the files." {
				return fakellm.Turn{Text: "There are none."}
			}
			return script(r)
		}, fakellm.Options{})
		submit(t, server, gemini.Native(), t.TempDir())
		requests := server.Requests()
		messages := requests[len(requests)-1].Messages
		result, ok := messages[len(messages)-1].Parts[0].(llm.ToolResult)
		if !ok {
			t.Fatalf("there is no result in %+v", messages)
		}
		return result.Content.Text()
	}
	if got := play("generalist"); got != "There are none." {
		t.Errorf("the agent's report is %q", got)
	}
	if got := play("nobody"); !strings.Contains(got, "one of these as agent_name: generalist") {
		t.Errorf("the error is %q", got)
	}
}

func playSession(t *testing.T, p profile.Profile, golden string, create, edit, run fakellm.Call, printed string) {
	dir := t.TempDir()
	for name, content := range map[string]string{"AGENTS.md": "Run the tests.\n", "GEMINI.md": "Be exact.\n",
		"CLAUDE.md": "Not for you.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	server := fakellm.New(fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{create}},
		fakellm.Turn{Calls: []fakellm.Call{edit}},
		fakellm.Turn{Calls: []fakellm.Call{run}}, fakellm.Turn{Text: "Done."}), fakellm.Options{})
	local, text := submit(t, server, p, dir)
	if text != "Done." {
		t.Errorf("the answer is %q", text)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "src/a.txt")); err != nil || string(got) != "one\nthree\n" {
		t.Errorf("the file has %q, %v", got, err)
	}
	requests := server.Requests()
	if len(requests) != 4 {
		t.Fatalf("there were %d requests", len(requests))
	}
	if !strings.HasSuffix(requests[0].Path, "/v1beta/models/"+gemini.DefaultModel+":streamGenerateContent") {
		t.Errorf("the path is %s", requests[0].Path)
	}
	header := requests[0].Header.Clone()
	header.Del("Content-Length")
	header.Del("Accept-Encoding") // set by the HTTP client, as is the length
	if diff := cmp.Diff(http.Header{"Accept": {"text/event-stream, application/json"},
		"Content-Type": {"application/json"},
		"User-Agent":   {"attractor-go"}, "X-Goog-Api-Key": {"test"}}, header); diff != "" {
		t.Errorf("the headers: -want +got\n%s", diff)
	}
	last := requests[3].Messages[len(requests[3].Messages)-1]
	if result, ok := last.Parts[0].(llm.ToolResult); !ok || !strings.Contains(result.Content.Text(), printed) {
		t.Errorf("the command's result is %+v, want %q", last.Parts, printed)
	}
	compareGolden(t, filepath.Join("testdata", golden+".json"), requests[0].Body, strings.NewReplacer(
		local.WorkDir(), "$WORK", dir, "$WORK", local.Platform().OS+"/"+local.Platform().Arch, "$PLATFORM",
		"OS version: "+local.Platform().Version, "OS version: $VERSION"))
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
	result, err := s.Submit(context.Background(), "Count to three.")
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

// compareGolden compares a body with a file. It is as it was sent, but indented.
func compareGolden(t *testing.T, file string, body []byte, volatile *strings.Replacer) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Fatal(err)
	}
	got := volatile.Replace(b.String()) + "\n"
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
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the first request (rewrite with -update, and read the difference):\n%s", diff)
	}
}
