package instructions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session is a session with a scripted model and the documents of directories below.
type session struct {
	testing.TB
	env     env.Environment
	log     *journal.Memory
	options instructions.Options
	change  func(*agent.Options)
	told    []string
}

// works returns a session in a directory below the tree.
func (w *tree) works(below string) *session {
	w.Helper()
	e, err := env.NewLocal(filepath.Join(w.dir, filepath.FromSlash(below)), env.LocalOptions{Roots: []string{w.dir}})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := e.Close(); err != nil {
			w.Error(err)
		}
	})
	return &session{TB: w, env: e, log: new(journal.Memory), options: claude()}
}

// open opens the session, or resumes it.
func (s *session) open(steps ...llmtest.Step) (*agent.Session, *llmtest.Provider) {
	s.Helper()
	s.options.Warn = func(m instructions.Mistake) { s.told = append(s.told, m.String()) }
	model := llmtest.NewProvider("test", steps...)
	tools := append(coding.Agents(), coding.ReadFile(), coding.WriteFile(), coding.EditFile(), coding.Grep(),
		coding.ReadOutput())
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}}, Env: s.env, Journal: s.log,
		Documents: s.options,
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "BASE PROMPT",
			Tools: tools}}
	o.Middleware = []tool.Middleware{instructions.Below(s.options)}
	if s.change != nil {
		s.change(&o)
	}
	start := agent.New
	if s.log.Len() > 0 {
		start = agent.Resume
	}
	opened, err := start(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	return opened, model
}

// run submits a task, ends the session, replays it and returns the requests.
func (s *session) run(steps ...llmtest.Step) []*llm.Request {
	s.Helper()
	opened, model := s.open(steps...)
	if _, err := opened.Submit(s.Context(), "the task"); err != nil {
		s.Error(err)
	}
	if err := opened.Close(); err != nil {
		s.Error(err)
	}
	if err := agent.Replay(s.Context(), s.log, agent.ReplayOptions{}); err != nil {
		s.Errorf("the replay differs: %v", err)
	}
	requests := model.Requests()
	for i := 1; i < len(requests); i++ {
		s.begins(requests[i], requests[i-1])
	}
	return requests
}

// begins fails the test unless a request begins with the one before it.
func (s *session) begins(req, before *llm.Request) {
	s.Helper()
	was, err1 := json.Marshal(before.Messages)
	is, err2 := json.Marshal(req.Messages[:min(len(req.Messages), len(before.Messages))])
	if err := errors.Join(err1, err2); err != nil || string(was) != string(is) {
		s.Errorf("what was sent has changed: %v\n%s\nwas\n%s", err, is, was)
	}
}

// later returns the texts of the turns behind the last results of a request.
func later(req *llm.Request) (texts []string) {
	for _, m := range slices.Backward(req.Messages) {
		if m.Role != llm.RoleUser {
			break
		}
		texts = append([]string{m.Parts.Text()}, texts...)
	}
	return texts
}

func read(name string) llm.ToolCall {
	return llmtest.Call("read_file", map[string]string{"file_path": name})
}

func section(w *tree, name, dir, text string) string {
	return fmt.Sprintf("# Project instructions from %s/%s\n\nThey apply to all files in %s/%s and below.\n\n%s", w.dir,
		name, w.dir, dir, text)
}

// The documents of all directories between the working directory and a file come behind the result
// of the call that has read it, once.
func TestM10_DocumentsBelow(t *testing.T) {
	w := newTree(t, "AGENTS.md", "OF TOP", "x.go", "package x", "a/AGENTS.md", "OF A", "a/b/CLAUDE.md",
		"OF B @more.md @../../AGENTS.md", "a/b/more.md", "MORE", "a/b/x.go", "package b",
		"a/c/AGENTS.md", "OF C", "a/c/x.go", "package c", "a/y.go", "package a", "d/AGENTS.md", "OF D", "d/x.go",
		"needle")
	s := w.works("")
	requests := s.run(llmtest.Calls(read("x.go")), llmtest.Calls(read("a/b/x.go"), read("a/y.go")),
		llmtest.Calls(read("a/b/x.go"), llmtest.Call("grep", map[string]string{"pattern": "needle"})),
		llmtest.Calls(llmtest.Call("write_file", map[string]string{"file_path": "a/c/new.go", "content": "package c"})),
		llmtest.Text("done"))
	has(t, requests[0].Messages[0].Parts.Text(), "OF TOP")
	lacks(t, requests[0].Messages[0].Parts.Text(), "OF A", "OF B")
	for i, want := range [][]string{nil, nil, {section(w, "a/AGENTS.md", "a", "OF A"),
		section(w, "a/b/CLAUDE.md", "a/b", "OF B @more.md @../../AGENTS.md"),
		"# Project instructions from " + w.dir + "/a/b/more.md\n\nImported by " + w.dir +
			"/a/b/CLAUDE.md. They apply to all files in " + w.dir + "/a/b and below.\n\nMORE"},
		nil, {section(w, "a/c/AGENTS.md", "a/c", "OF C")}} {
		if got := later(requests[i]); i > 0 && !slices.Equal(got, want) {
			t.Errorf("request %d ends with %q, want %q", i, got, want)
		}
	}
	if len(s.told) > 0 {
		t.Errorf("%q", s.told)
	}
}

// Calls that run side by side give a document once.
func TestM10_DocumentsBelowOfParallelCalls(t *testing.T) {
	w := newTree(t, "a/AGENTS.md", "OF A")
	const parallel = 4
	var calls []llm.ToolCall
	for i := range parallel {
		w.put(fmt.Sprintf("a/%d.go", i), "package a")
		calls = append(calls, read(fmt.Sprintf("a/%d.go", i)))
	}
	s := w.works("")
	var all sync.WaitGroup
	all.Add(parallel)
	s.change = func(o *agent.Options) {
		o.Middleware = append(o.Middleware, func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
				result, err := next(ctx, call)
				all.Done()
				all.Wait() // now all of them have read at the same time
				return result, err
			}
		})
	}
	requests := s.run(llmtest.Calls(calls...), llmtest.Text("done"))
	if got := later(requests[1]); !slices.Equal(got, []string{section(w, "a/AGENTS.md", "a", "OF A")}) {
		t.Errorf("%q", got)
	}
}

// A rule for certain files comes when the first of them is read or changed, also one of a directory
// above.
func TestM10_RulesForSomeFiles(t *testing.T) {
	w := newTree(t, ".claude/rules/ts.md", "---\npaths: \"**/*.ts\"\n---\nFOR TS @../ts-more.md", ".claude/ts-more.md",
		"MORE", "a/x.ts", "", "a/x.go", "", "a/.claude/rules/go.md", "---\npaths: [\"*.go\"]\n---\nFOR GO",
		"a/b/x.go", "package b")
	requests := w.works("a").run(llmtest.Calls(read("b/x.go")), llmtest.Calls(read("x.go")),
		llmtest.Calls(read("x.ts")), llmtest.Text("done"))
	lacks(t, requests[0].Messages[0].Parts.Text(), "FOR")
	scoped := func(name, by, dir, glob, text string) string {
		return fmt.Sprintf("# Project instructions from %s/%s\n\n%sThey apply to the files in %s that match %s.\n\n%s",
			w.dir, name, by, w.dir+dir, glob, text)
	}
	for i, want := range [][]string{1: nil, 2: {scoped("a/.claude/rules/go.md", "", "/a", "*.go", "FOR GO")},
		3: {scoped(".claude/rules/ts.md", "", "", "**/*.ts", "FOR TS @../ts-more.md"), scoped(".claude/ts-more.md",
			"Imported by "+w.dir+"/.claude/rules/ts.md. ", "", "**/*.ts", "MORE")}} {
		if got := later(requests[i]); i > 0 && !slices.Equal(got, want) {
			t.Errorf("request %d ends with %q, want %q", i, got, want)
		}
	}
}

// Directories of dependencies and settings have no documents for the project.
func TestM10_DependenciesInstructNobody(t *testing.T) {
	var files []string
	w := newTree(t, "src/AGENTS.md", "OF SRC")
	for _, dir := range []string{"node_modules/x", "src/vendor/x", "lib/site-packages/x", ".claude", ".git/x"} {
		w.put(dir+"/AGENTS.md", "FOREIGN")
		w.put(dir+"/f.txt", "x")
		files = append(files, dir+"/f.txt")
	}
	var calls []llm.ToolCall
	for _, name := range files {
		calls = append(calls, read(name))
	}
	requests := w.works("").run(llmtest.Calls(calls...), llmtest.Text("done"))
	if got := later(requests[1]); !slices.Equal(got, []string{section(w, "src/AGENTS.md", "src", "OF SRC")}) {
		t.Errorf("%q", got)
	}
}

// A resumed session and a fork do not repeat what the model has, and go on with the rest.
func TestM10_DocumentsBelowAfterAResume(t *testing.T) {
	w := newTree(t, "a/AGENTS.md", "OF A", "a/x", "", "b/AGENTS.md", "OF B", "b/x", "")
	s := w.works("")
	s.run(llmtest.Calls(read("a/x")), llmtest.Text("done"))
	requests := s.run(llmtest.Calls(read("a/x"), read("b/x")), llmtest.Text("done"))
	if got := later(requests[1]); !slices.Equal(got, []string{section(w, "b/AGENTS.md", "b", "OF B")}) {
		t.Errorf("%q", got)
	}
	if n := strings.Count(all(requests[1]), "OF A"); n != 1 {
		t.Errorf("the document is there %d times", n)
	}
}

// all returns the text of all messages of a request.
func all(req *llm.Request) string {
	var b strings.Builder
	for _, m := range req.Messages {
		b.WriteString(m.Parts.Text() + "\n")
	}
	return b.String()
}

// What a compaction has replaced comes again when such a file is read the next time; what it has
// left comes not.
func TestM10_DocumentsBelowAfterACompaction(t *testing.T) {
	w := newTree(t, "a/AGENTS.md", "OF A", "a/x", "", "b/AGENTS.md", "OF B", "b/x", "", "x", "")
	s := w.works("")
	s.change = func(o *agent.Options) { o.Compaction = agent.CompactionPolicy{Threshold: 0.9, KeepTurns: 5} }
	opened, _ := s.open(llmtest.Calls(read("a/x")), llmtest.Calls(read("x")), llmtest.Calls(read("b/x")),
		llmtest.Text("done"), llmtest.Text("THE SUMMARY"),
		llmtest.Calls(read("b/x")), llmtest.Calls(read("a/x")), llmtest.Calls(read("a/x")), llmtest.Text("done"))
	submit := func() {
		if _, err := opened.Submit(t.Context(), "the task"); err != nil {
			t.Fatal(err)
		}
	}
	submit()
	if err := opened.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	state, err := agent.Load(t.Context(), s.log)
	if err != nil {
		t.Fatal(err)
	}
	notes := state.Notes
	if a, b := notes["instructions:"+w.dir+"/a/AGENTS.md"], notes["instructions:"+w.dir+"/b/AGENTS.md"]; !a.Replaced ||
		b.Replaced || b.Text == "" {
		t.Errorf("%+v, %+v", a, b)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	steps := llmtest.Calls(read("b/x"))
	opened, model := s.open(steps, llmtest.Calls(read("a/x")), llmtest.Calls(read("a/x")), llmtest.Text("done"))
	submit()
	requests := model.Requests()
	if first := all(requests[0]); strings.Contains(first, "OF A") || !strings.Contains(first, "OF B") ||
		!strings.Contains(first, "THE SUMMARY") {
		t.Fatalf("the compaction did not replace what it should have:\n%s", first)
	}
	for i, want := range [][]string{1: nil, 2: {section(w, "a/AGENTS.md", "a", "OF A")}, 3: nil} {
		if got := later(requests[i]); i > 0 && !slices.Equal(got, want) {
			t.Errorf("request %d ends with %q, want %q", i, got, want)
		}
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Replay(t.Context(), s.log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// The documents of directories below have 32 KiB together. One that is too long is cut, and of the
// others the model learns that they are there.
func TestM10_DocumentsBelowHaveABudget(t *testing.T) {
	w := newTree(t, "a/AGENTS.md", strings.Repeat("a", 30_000), "b/AGENTS.md", strings.Repeat("b", 30_000),
		"c/AGENTS.md", "OF C", "a/x", "", "b/x", "", "c/x", "")
	requests := w.works("").run(llmtest.Calls(read("a/x")), llmtest.Calls(read("b/x")), llmtest.Calls(read("c/x")),
		llmtest.Calls(read("c/x")), llmtest.Text("done"))
	first, second, third := later(requests[1]), later(requests[2]), later(requests[3])
	if len(first) != 1 || len(second) != 1 || len(third) != 1 || len(later(requests[4])) != 0 {
		t.Fatalf("%d, %d and %d texts", len(first), len(second), len(third))
	}
	has(t, first[0], "aaa")
	has(t, second[0], "bbb", "\n[Project instructions truncated at 32KB]")
	has(t, third[0], "The project instructions in "+w.dir+
		"/c/AGENTS.md are not shown, because those of other directories fill their 32KB.")
	if n := len(first[0] + second[0] + third[0]); n > 33_500 {
		t.Errorf("%d bytes", n)
	}
}

// A subagent has the documents of its own directories: in its prompt down to its working directory,
// later those below.
func TestM10_DocumentsBelowOfASubagent(t *testing.T) {
	w := newTree(t, "AGENTS.md", "OF TOP", "a/AGENTS.md", "OF A", "a/b/AGENTS.md", "OF B", "a/b/x", "", "home.md",
		"OF THE USER")
	s := w.works("")
	s.options.User, s.options.UserMistakes = instructions.ReadUser(t.Context(), w.dir, []string{w.dir + "/home.md"})
	s.change = func(o *agent.Options) { o.Subagents = &agent.Subagents{} }
	step := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		text := all(req)
		switch {
		case strings.Contains(text, "the part") && strings.Contains(text, "OF B"):
			return llmtest.Text("PART DONE")
		case strings.Contains(text, "the part"):
			return llmtest.Calls(read("b/x"))
		case len(req.Messages) == 2:
			return llmtest.Calls(llmtest.Call("spawn_agent", map[string]string{"task": "the part", "working_dir": "a"}))
		case len(req.Messages) == 4:
			return llmtest.Calls(llmtest.Call("wait", map[string]string{"agent_id": "agent-1"}))
		}
		return llmtest.Text("done")
	})
	opened, model := s.open(slices.Repeat([]llmtest.Step{step}, 20)...)
	if _, err := opened.Submit(t.Context(), "the task"); err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	children := 0
	for _, req := range model.Requests() {
		if !strings.Contains(all(req), "the part") {
			lacks(t, all(req), "OF A", "OF B")
			continue
		}
		children++
		has(t, req.Messages[0].Parts.Text(), "OF THE USER", "OF TOP", "OF A")
		lacks(t, req.Messages[0].Parts.Text(), "OF B")
	}
	if children != 2 {
		t.Errorf("%d requests of the subagent", children)
	}
}

// Documents of an environment that is no directory of this machine.
func TestM10_DocumentsBelowElsewhere(t *testing.T) {
	w := &tree{t, envtest.MemoryDir}
	s := &session{TB: t, log: new(journal.Memory), options: claude(),
		env: envtest.NewMemory(map[string]string{"AGENTS.md": "OF TOP @more.md", "more.md": "MORE",
			"a/CLAUDE.md": "OF A", "a/x": "x", ".claude/rules/x.md": "---\npaths: a/*\n---\nFOR X"})}
	requests := s.run(llmtest.Calls(read("a/x")), llmtest.Text("done"))
	has(t, requests[0].Messages[0].Parts.Text(), "OF TOP", "MORE")
	if got := later(requests[1]); len(got) != 2 || !strings.HasSuffix(got[0], "FOR X") ||
		got[1] != section(w, "a/CLAUDE.md", "a", "OF A") {
		t.Errorf("%q", got)
	}
}

// What is wrong with a document is told when the document comes.
func TestM10_MistakesBelowAreTold(t *testing.T) {
	w := newTree(t, "a/AGENTS.md", "OF A\n@missing.md", "a/x", "")
	s := w.works("")
	s.run(llmtest.Calls(read("a/x")), llmtest.Calls(read("a/x")), llmtest.Text("done"))
	if want := []string{w.dir +
		"/a/AGENTS.md, line 2: @missing.md is not imported: there is no such file"}; !slices.Equal(s.told, want) {
		t.Errorf("%q, want %q", s.told, want)
	}
}
