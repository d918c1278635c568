package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/tool"
)

// session is a session for single tools, with background commands.
type session struct {
	tool.Plain
	processes tool.Processes
}

func (s *session) Processes() tool.Processes { return s.processes }

// fixture runs calls of the native tools on a real directory.
type fixture struct {
	testing.TB
	dir      string
	env      *env.Local
	registry *tool.Registry
	session  *session
}

func newBench(t testing.TB) *fixture {
	t.Helper()
	dir := t.TempDir()
	e, err := env.NewLocal(dir, env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tool.NewRegistry(anthropic.Native().Tools...)
	if err != nil {
		t.Fatal(err)
	}
	processes := tool.NewProcesses(nil, 1)
	t.Cleanup(func() {
		if err := processes.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return &fixture{t, dir, e, registry, &session{processes: processes}}
}

func (b *fixture) run(name string, args any) tool.Outcome {
	b.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		b.Fatal(err)
	}
	return *b.registry.Run(context.Background(), llm.ToolCall{ID: "c", Name: name, Args: string(text)},
		tool.Call{Env: b.env, Session: b.session}, nil)
}

type object = map[string]any

// The names, types, enums, limits and required parameters are those of Claude Code 2.1.329, for the
// tools of this profile.
var vendors = map[string]string{
	"Agent": "description:string! prompt:string! subagent_type:string model:string[sonnet opus haiku fable] " +
		"effort:string[low medium high xhigh max] run_in_background:boolean isolation:string[worktree remote]",
	"Bash": "command:string! timeout:number description:string run_in_background:boolean " +
		"dangerouslyDisableSandbox:boolean",
	"Edit":        "file_path:string! old_string:string! new_string:string! replace_all:boolean=false",
	"Read":        "file_path:string! offset:integer>=0 limit:integer>0 pages:string allow_large:boolean",
	"SendMessage": "to:string! summary:string<=200 message:string!=\"\" notify_when_idle:boolean",
	"TaskStop":    "task_id:string shell_id:string",
	"Write":       "file_path:string! content:string!",
}

func TestE2_NativeDefinitions(t *testing.T) {
	own := []string{"read_output", "process", "wait", "ask_user"}
	var names []string
	for _, def := range anthropic.Native().Tools {
		names = append(names, def.Name)
		if slices.Contains(own, def.Name) {
			continue
		}
		if got, want := sortedWords(signature(t, def.Parameters)), sortedWords(vendors[def.Name]); got != want {
			t.Errorf("%s has the parameters\n%s\nwant\n%s", def.Name, got, want)
		}
	}
	if want := append([]string{"Agent", "Bash", "Edit", "Read", "SendMessage", "TaskStop", "Write"},
		own...); !slices.Equal(names, want) {
		t.Errorf("the tools are %q, want %q", names, want)
	}
}

// signature returns a schema in the short form of the table.
func signature(t *testing.T, schema json.RawMessage) string {
	t.Helper()
	var s struct {
		Properties map[string]struct {
			Type             string
			Enum             []string
			Default          json.RawMessage
			Minimum          *int
			ExclusiveMinimum *int
			MaxLength        *int
		}
		Required             []string
		AdditionalProperties *bool
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		t.Fatal(err)
	}
	if s.AdditionalProperties == nil || *s.AdditionalProperties {
		t.Errorf("additional properties are allowed: %s", schema)
	}
	var words []string
	for name, p := range s.Properties {
		word := name + ":" + p.Type
		if p.Enum != nil {
			word += fmt.Sprint(p.Enum)
		}
		if slices.Contains(s.Required, name) {
			word += "!"
		}
		if p.Default != nil {
			word += "=" + string(p.Default)
		}
		if p.Minimum != nil {
			word += fmt.Sprintf(">=%d", *p.Minimum)
		}
		if p.ExclusiveMinimum != nil {
			word += fmt.Sprintf(">%d", *p.ExclusiveMinimum)
		}
		if p.MaxLength != nil {
			word += fmt.Sprintf("<=%d", *p.MaxLength)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func sortedWords(text string) string {
	words := strings.Fields(text)
	slices.Sort(words)
	return strings.Join(words, " ")
}

func TestE2_BashResults(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		name, command, want string
		timeout             float64
		isError             bool
	}{
		{"success", "echo out; echo", "out\n", 0, false},
		{"nothing", "true", "(no output)", 0, false},
		{"failure", "echo out; echo err >&2; exit 3", "Exit code 3\nout\nerr", 0, true},
		{"failure without output", "exit 4", "Exit code 4", 0, true},
		{"output that looks like the end", "echo 'Exit code: 7'; exit 3", "Exit code 3\nExit code: 7", 0, true},
		{"no newline at the end", "printf 'Exit code: 7'; exit 3", "Exit code 3\nExit code: 7", 0, true},
		{"success that looks like a failure", "echo 'Exit code: 7'", "Exit code: 7", 0, false},
		{"signal", "echo out; kill -KILL $$", "Exit code -1 (killed by SIGKILL)\nout", 0, true},
		{"a negative timeout", "true",
			"Error: timeout is -1; it must be 1 or more, or left out for the default of 120000", -7, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := object{"command": c.command}
			if c.timeout != 0 {
				args["timeout"] = c.timeout
			}
			got := b.run("Bash", args)
			if text := got.Content.Text(); text != c.want || got.IsError != c.isError {
				t.Errorf("got %q, an error: %t; want %q, %t", text, got.IsError, c.want, c.isError)
			}
		})
	}
}

func TestE2_BashTimeout(t *testing.T) {
	b := newBench(t)
	got := b.run("Bash", object{"command": "echo 'Exit code: 7'; exec sleep 600", "timeout": 300.5})
	want := "Exit code: 7\n[ERROR: Command timed out after 301ms. Partial output is shown above.\n" +
		"You can retry with a longer timeout by setting timeout.]\n[To keep a server or a watcher running, start it " +
		"with run_in_background.]"
	// the shell may not have come to it
	text := strings.Replace(got.Content.Text(), " It was running `sleep 600`.", "", 1)
	if text != want || !got.IsError {
		t.Errorf("got %q, want %q", text, want)
	}
}

// What a failed command left running is listed after its output.
func TestE2_BashLeavesSomethingRunning(t *testing.T) {
	b := newBench(t)
	got := b.run("Bash", object{"command": "sleep 600 </dev/null >/dev/null 2>&1 & echo out; exit 3"})
	if text := got.Content.Text(); !strings.HasPrefix(text,
		"Exit code 3\nout\n[The command has ended but left processes running") || !strings.Contains(text, "sleep 600") {
		t.Errorf("got %q", text)
	}
}

// The gap in a long output keeps its place when the exit code is put in front.
func TestE2_BashLongOutput(t *testing.T) {
	b := newBench(t)
	got := b.run("Bash", object{"command": "seq 1 3000000; exit 3"})
	text := got.Model.Text()
	if !strings.HasPrefix(text, "Exit code 3\n1\n2\n") || !strings.HasSuffix(text, "2999999\n3000000") {
		t.Errorf("it starts with %.40q and ends with %q", text, text[max(0, len(text)-40):])
	}
	if !strings.Contains(text, "truncated") {
		t.Error("nothing says that it was truncated")
	}
	var all strings.Builder
	for i := range 3_000_000 {
		fmt.Fprintln(&all, i+1)
	}
	whole, at := "Exit code 3\n"+all.String(), got.Gap.At
	if text := got.Content.Text(); got.Gap.Bytes == 0 || !strings.HasPrefix(whole, text[:at]) ||
		strings.HasPrefix(whole, text[:at+2]) {
		t.Errorf("the hole is said to be at %d, of %d bytes", at, got.Gap.Bytes)
	}
}

func TestE2_BackgroundAndTaskStop(t *testing.T) {
	b := newBench(t)
	got := b.run("Bash", object{"command": "echo ready; exec sleep 600", "run_in_background": true, "timeout": 5})
	if text := got.Content.Text(); got.IsError || !strings.Contains(text, "process 1") ||
		strings.Contains(text, "timeout") {
		t.Fatalf("got %q", text)
	}
	for _, name := range []string{"task_id", "shell_id"} {
		got = b.run("TaskStop", object{name: "1"})
		if text := got.Content.Text(); got.IsError || !strings.Contains(text, "Process 1 has ended") {
			t.Errorf("TaskStop: %q", text)
		}
	}
	for args, want := range map[string]string{`{}`: "task_id is missing", `{"task_id":"9"}`: "no command",
		`{"task_id":"agent-1"}`: "no subagents"} {
		if got := b.run("TaskStop", json.RawMessage(args)); !got.IsError || !strings.Contains(got.Content.Text(),
			want) {
			t.Errorf("TaskStop %s: %q", args, got.Content.Text())
		}
	}
}

func TestE2_Files(t *testing.T) {
	b := newBench(t)
	if got := b.run("Write", object{"file_path": "a/b.txt", "content": "one\n  7 | two\nthree\n"}); got.IsError {
		t.Fatal(got.Content.Text())
	}
	want := "     1\tone\n     2\t  7 | two\n     3\tthree\n"
	if got := b.run("Read", object{"file_path": "a/b.txt", "allow_large": true}).Content.Text(); got != want {
		t.Errorf("Read: %q, want %q", got, want)
	}
	if got := b.run("Read", object{"file_path": "a/b.txt", "offset": 2,
		"limit": 1}).Content.Text(); !strings.HasPrefix(got, "     2\t  7 | two\n\n[Lines 2 to 2") {
		t.Errorf("Read: %q", got)
	}
	if got := b.run("Read", object{"file_path": "a/b.txt", "pages": "1-2"}); !got.IsError ||
		!strings.Contains(got.Content.Text(), "PDF") {
		t.Errorf("Read: %q", got.Content.Text())
	}
	got := b.run("Edit", object{"file_path": "a/b.txt", "old_string": "two", "new_string": "2"})
	if !strings.Contains(got.Content.Text(), "     2\t  7 | 2\n") {
		t.Errorf("Edit: %q", got.Content.Text())
	}
	data, err := os.ReadFile(filepath.Join(b.dir, "a/b.txt"))
	if err != nil || string(data) != "one\n  7 | 2\nthree\n" {
		t.Errorf("the file: %q, %v", data, err)
	}
}

// The scheduler and the permission hook see the same Access as with this project's own tools.
func TestE2_Access(t *testing.T) {
	for call, want := range map[[2]string]tool.Access{
		{"Read", `{"file_path":"x"}`}:                                 {Effect: tool.ReadOnly, Paths: []string{"x"}},
		{"Write", `{"file_path":"x","content":""}`}:                   {Effect: tool.Writes, Paths: []string{"x"}},
		{"Edit", `{"file_path":"x","old_string":"","new_string":""}`}: {Effect: tool.Writes, Paths: []string{"x"}},
		{"Bash", `{"command":"rm x"}`}:                                {Effect: tool.Writes, Command: "rm x"},
		{"TaskStop", `{"task_id":"3"}`}:                               {Effect: tool.Writes, Command: "TaskStop 3"},
		{"Agent", `{"description":"d","prompt":"p"}`}:                 {Effect: tool.Writes, Command: `Agent "d": p`},
	} {
		registry, err := tool.NewRegistry(anthropic.Native().Tools...)
		if err != nil {
			t.Fatal(err)
		}
		got := registry.Prepare(llm.ToolCall{ID: "c", Name: call[0], Args: call[1]})
		if got.Outcome != nil || fmt.Sprint(got.Access) != fmt.Sprint(want) {
			t.Errorf("%v: %+v, want %+v", call, got.Access, want)
		}
	}
}

// agentSession returns a session that may have subagents, which the same model plays.
func agentSession(t *testing.T, calls ...llmtest.Step) (*agent.Session, *llmtest.Provider) {
	t.Helper()
	model := llmtest.NewProvider("anthropic", calls...)
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}},
		Env: e, Profile: anthropic.Native(), Subagents: &agent.Subagents{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, model
}

// Agent waits for its subagent, which has the parent's tools except those that start agents, and
// the requested model and effort.
func TestE2_AgentWaits(t *testing.T) {
	s, model := agentSession(t,
		llmtest.Calls(llmtest.Call("Agent",
			`{"description":"look","prompt":"LOOK AROUND","model":"opus","effort":"xhigh"}`)),
		llmtest.Text("THE REPORT"),
		llmtest.Text("done"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.Submit(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests, want 3", len(requests))
	}
	if child := requests[1]; child.Model != "claude-opus-5-5" || child.Effort != "xhigh" ||
		slices.ContainsFunc(child.Tools, func(d llm.ToolDefinition) bool { return d.Name == "Agent" }) {
		t.Errorf("the subagent has the model %s and %d tools", child.Model, len(child.Tools))
	}
	last := requests[2].Messages[len(requests[2].Messages)-1]
	data, err := json.Marshal(last)
	if err != nil || !strings.Contains(string(data), "THE REPORT") || !strings.Contains(string(data), "agent-1") {
		t.Errorf("the parent got %s, %v", data, err)
	}
}

func TestE2_AgentRefusals(t *testing.T) {
	s, model := agentSession(t,
		llmtest.Calls(llmtest.Call("Agent", `{"description":"d","prompt":"p","isolation":"worktree"}`),
			llmtest.Call("Agent", `{"description":"d","prompt":"p","subagent_type":"Explore"}`)),
		llmtest.Text("done"))
	if _, err := s.Submit(context.Background(), "x"); err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	data, err := json.Marshal(requests[len(requests)-1].Messages)
	if err != nil || !strings.Contains(string(data), "isolation is not offered") || !strings.Contains(string(data),
		"general-purpose") || len(requests) != 2 {
		t.Errorf("%d requests; %s, %v", len(requests), data, err)
	}
}

// agents records the tasks of subagents. Wait blocks until its context ends.
type agents struct {
	tool.Agents
	asked []string
}

func (a *agents) Spawn(_ context.Context, task tool.AgentTask) (tool.AgentStatus, error) {
	a.asked = append(a.asked, "spawn "+task.Task)
	return tool.AgentStatus{ID: "agent-1", Status: "running"}, nil
}

func (a *agents) Send(_ context.Context, id, message string) (tool.AgentStatus, error) {
	a.asked = append(a.asked, "send "+id+" "+message)
	return tool.AgentStatus{ID: id}, nil
}

func (a *agents) Wait(ctx context.Context, _ string) (tool.AgentResult, error) {
	<-ctx.Done()
	return tool.AgentResult{}, context.Cause(ctx)
}

func (a *agents) Close(ctx context.Context, id string) (tool.AgentStatus, error) {
	a.asked = append(a.asked, "close "+id)
	return tool.AgentStatus{ID: id, Status: "closed"}, ctx.Err()
}

type withAgents struct {
	tool.Plain
	agents *agents
}

func (s *withAgents) Agents() tool.Agents { return s.agents }

// The call does not wait for an agent in the background. Any other agent ends with the call that
// started it.
func TestE2_AgentCalls(t *testing.T) {
	registry, err := tool.NewRegistry(anthropic.Native().Tools...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args, text string
		isError          bool
		asked            []string
	}{
		{"Agent", `{"description":"d","prompt":"p","run_in_background":true}`, "Agent agent-1 works in the background",
			false, []string{"spawn p"}},
		{"Agent", `{"description":"d","prompt":"p"}`, "deadline exceeded", true, []string{"spawn p", "close agent-1"}},
		{"SendMessage", `{"to":"agent-1","summary":"s","message":"m"}`, `"agent_id":"agent-1"`, false,
			[]string{"send agent-1 m"}},
		{"TaskStop", `{"task_id":"agent-1"}`, `"status":"closed"`, false, []string{"close agent-1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			a := new(agents)
			got := registry.Run(ctx, llm.ToolCall{ID: "c", Name: c.name, Args: c.args},
				tool.Call{Session: &withAgents{agents: a}}, nil)
			if text := got.Content.Text(); !strings.Contains(text, c.text) || got.IsError != c.isError ||
				!slices.Equal(a.asked, c.asked) {
				t.Errorf("%s %s: %q, an error: %t, asked %q", c.name, c.args, text, got.IsError, a.asked)
			}
		})
	}
}

// The results of Bash, TaskStop and Edit say in their structure what they say in their text.
func TestJ4_BashRan(t *testing.T) {
	b := newBench(t)
	for command, want := range map[string]tool.Ran{
		"echo 'Exit code: 7'; exit 3": {Exit: &env.Exit{Code: 3}, Bytes: 13, Lines: 1},
		"kill -KILL $$":               {Exit: &env.Exit{Code: -1, Signal: "SIGKILL"}},
		"echo out":                    {Exit: &env.Exit{}, Bytes: 4, Lines: 1},
	} {
		got := b.run("Bash", object{"command": command}).Ran
		if got == nil || got.Exit == nil {
			t.Fatalf("%s: %+v", command, got)
		}
		got.Exit.Duration = 0
		if diff := gocmp.Diff(&want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", command, diff)
		}
	}
	if got := b.run("Bash", object{"command": "exec sleep 600", "timeout": 100}).Ran; got == nil ||
		got.TimedOut != 100*time.Millisecond || got.Exit == nil {
		t.Errorf("the time is over: %+v", got)
	}
	if got := b.run("Bash", object{"command": "exec sleep 600", "run_in_background": true}).Ran; got == nil ||
		got.ID != "1" || !got.Running() {
		t.Errorf("in the background: %+v", got)
	}
	if got := b.run("TaskStop", object{"task_id": "1"}).Ran; got == nil || got.ID != "1" || got.Exit == nil ||
		got.Exit.Signal == "" {
		t.Errorf("stopped: %+v", got)
	}
	if got := b.run("Write", object{"file_path": "f", "content": "a\n"}).Changes; len(got) != 1 ||
		got[0].Kind != tool.Created {
		t.Errorf("written: %+v", got)
	}
	if got := b.run("Edit", object{"file_path": "f", "old_string": "a", "new_string": "b"}).Changes; len(got) != 1 ||
		got[0].Kind != tool.Modified {
		t.Errorf("edited: %+v", got)
	}
}

// A command that prints text like that of a result, or is a patch, gets the right result.
func TestJ4_BashReadsNoProse(t *testing.T) {
	b := newBench(t)
	left := "[The command has ended but left processes running. They end with the session:\n  1 x]"
	for command, want := range map[string]string{
		"echo 'Exit code: 7'; echo '" + left + "'; exit 3": "Exit code 3\nExit code: 7\n" + left,
		"echo 'by setting the timeout_ms parameter.]'; exit 3": "Exit code 3\nby " +
			"setting the timeout_ms parameter.]",
		"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: Exit code: 5\n+n\n*** End Patch\nEOF": "Done. The patch " +
			"changed these files:\nA Exit code: 5",
	} {
		if got := b.run("Bash", object{"command": command}).Content.Text(); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", command, got, want)
		}
	}
	got := b.run("Bash", object{"command": "printf 'Exit code: 7\\n[The command has ended but left processes " +
		"running'; exec sleep 600", "timeout": 200}).Content.Text()
	if want := "Exit code: 7\n[The command has ended but left processes running\n[ERROR: Command timed out " +
		"after 200ms."; !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	b.run("Write", object{"file_path": "f", "content": "before\n  7 | not a number\n"})
	if got := b.run("Edit", object{"file_path": "f", "old_string": "before",
		"new_string": "  8 | after"}).Content.Text(); !strings.HasSuffix(got,
		"     1\t  8 | after\n     2\t  7 | not a number\n") {
		t.Errorf("Edit: %s", got)
	}
}

func TestJ4_AgentIsStructured(t *testing.T) {
	s, _ := agentSession(t,
		llmtest.Calls(llmtest.Call("Agent", `{"description":"look","prompt":"LOOK AROUND"}`)),
		llmtest.Text("THE REPORT"),
		llmtest.Calls(llmtest.Call("Agent", `{"description":"wait","prompt":"WAIT","run_in_background":true}`)),
		llmtest.Text("done"), llmtest.Text("done"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := s.Submit(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	want := []string{`{"agent_id":"agent-1","success":true,"turns_used":1}`,
		`{"agent_id":"agent-2","status":"running"}`}
	for ev := range s.Events(ctx) {
		if end, ok := ev.(*agent.ToolCallEnd); ok {
			if string(end.Structured) != want[0] {
				t.Errorf("%s: %s, want %s", end.Output, end.Structured, want[0])
			}
			if want = want[1:]; len(want) == 0 {
				return
			}
		}
	}
	t.Error("the session ended before")
}

// TestR7_FilesAreConfirmedInTheVendorsWords compares results of changes with those of Claude Code.
func TestR7_FilesAreConfirmedInTheVendorsWords(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		tool string
		args object
		want string
	}{
		{"Write", object{"file_path": "a.txt", "content": "one\ntwo\none\n"}, "File created successfully at: a.txt"},
		{"Edit", object{"file_path": "a.txt", "old_string": "two", "new_string": "2"},
			"The file a.txt has been updated. Here's the result of running `cat -n` on a snippet of the edited " +
				"file:\n     1\tone\n     2\t2\n     3\tone\n"},
		{"Edit", object{"file_path": "a.txt", "old_string": "one", "new_string": "1", "replace_all": true},
			"The file a.txt has been updated. All 2 occurrences were successfully replaced (lines 1, 3)."},
		{"Write", object{"file_path": "a.txt", "content": ""}, "The file a.txt has been updated successfully."},
	} {
		if got := b.run(c.tool, c.args); got.IsError || got.Model.Text() != c.want {
			t.Errorf("%s %v: %q, want %q", c.tool, c.args, got.Model.Text(), c.want)
		}
	}
}
