package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// workplace is a directory in which several sessions work.
type workplace struct {
	*testing.T
	dir string
}

func (w *workplace) put(name, content string) {
	w.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *workplace) want(name, content string) {
	w.Helper()
	if got, err := os.ReadFile(filepath.Join(w.dir, name)); err != nil || string(got) != content {
		w.Errorf("%s holds %q, %v, want %q", name, got, err, content)
	}
}

// session opens a session in the directory, which is closed at the end of the test if not before.
func (w *workplace) session(o agent.Options, steps ...llmtest.Step) *host {
	w.Helper()
	local, err := env.NewLocal(w.dir, env.LocalOptions{})
	if err != nil {
		w.Fatal(err)
	}
	h := &host{model: llmtest.NewProvider("test", steps...)}
	tools := append([]tool.Tool{coding.ReadFile(), coding.WriteFile(), coding.EditFile(), coding.ApplyPatch()},
		coding.Agents()...)
	o.Client, o.Env = &llm.Client{Providers: []llm.Provider{h.model}}, local
	if o.Profile.Tools == nil {
		o.Profile = profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: tools}
	}
	o.System = "You are being tested."
	start := agent.New
	if o.Journal != nil && o.Journal.Len() > 0 {
		start = agent.Resume
	}
	if h.Session, err = start(context.Background(), o); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := errors.Join(h.Close(), local.Close()); err != nil {
			w.Error(err)
		}
	})
	return h
}

// runCalls runs one call per answer and returns the results.
func (w *workplace) runCalls(o agent.Options, calls ...llm.ToolCall) []string {
	w.Helper()
	var steps []llmtest.Step
	for _, c := range calls {
		steps = append(steps, llmtest.Calls(c))
	}
	h := w.session(o, append(steps, llmtest.Text("done"))...)
	before := len(h.outputs())
	h.submit(w.T, "work", agent.ReasonCompleted)
	got := h.outputs()[before:]
	if err := h.Close(); err != nil {
		w.Error(err)
	}
	return got
}

func (w *workplace) results(got []string, want ...string) {
	w.Helper()
	if len(got) != len(want) {
		w.Fatalf("%d results, want %d: %q", len(got), len(want), got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			w.Errorf("result %d: %q, want %q in it", i+1, got[i], want[i])
		}
	}
}

func reading(name string) llm.ToolCall {
	return llmtest.Call("read_file", map[string]any{"file_path": name})
}

func writing(name, content string) llm.ToolCall {
	return llmtest.Call("write_file", map[string]any{"file_path": name, "content": content})
}

const (
	notRead  = "this session has not read it"
	hasOther = "has changed since this session read or wrote it last"
)

// write_file is refused over a file that the session has not read or written.
func TestI6_WriteOverWhatTheSessionHasNotSeen(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("f", "theirs, first\n")
	w.results(w.runCalls(agent.Options{},
		writing("f", "ours\n"), reading("f"), writing("f", "ours\n"), writing("./f", "ours again\n"),
		writing("new", "n")),
		notRead, "theirs, first", "Replaced f", "Replaced ./f", "Created new")
	w.want("f", "ours again\n")
	w.results(w.runCalls(agent.Options{}, writing("f", "another session\n")), notRead)
	w.want("f", "ours again\n")
}

// The files that a session has seen are in its journal, so a resumed session knows them, also after
// a compaction, and so does a fork.
func TestI6_ResumedSessionsKnowWhatWasSeen(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("read", "r\n")
	w.put("changed", "c\n")
	w.put("edited", "e\n")
	log := new(journal.Memory)
	w.results(w.runCalls(agent.Options{Journal: log}, reading("read"), reading("changed"),
		llmtest.Call("edit_file", map[string]any{"file_path": "edited", "old_string": "e", "new_string": "E"}),
		writing("made", "m")),
		"r", "c", "Edited", "Created")
	w.put("changed", "by somebody else\n")
	w.put("never", "n")
	after := []llm.ToolCall{writing("read", "R"), writing("changed", "C"), writing("edited", "EE"),
		writing("made", "M"), writing("never", "N")}
	want := []string{"Replaced", hasOther, "Replaced", "Replaced", notRead}

	forked := forkOf(t, "the-fork", all(t, log)...)
	contents := map[string]string{"read": "r\n", "edited": "E\n", "made": "m"}
	for name, records := range map[string][]journal.Record{"resumed": all(t, log), "forked": forked} {
		t.Run(name, func(t *testing.T) {
			w := &workplace{t, w.dir}
			for name, content := range contents {
				w.put(name, content)
			}
			w.results(w.runCalls(agent.Options{Journal: journal.NewMemory(records...)}, after...), want...)
			w.want("changed", "by somebody else\n")
		})
	}
	t.Run("compacted", func(t *testing.T) {
		w := &workplace{t, w.dir}
		for name, content := range contents {
			w.put(name, content)
		}
		log := journal.NewMemory(all(t, log)...)
		h := w.session(agent.Options{Journal: log,
			Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}, llmtest.Text("a summary"),
			llmtest.Text("go on"))
		if err := h.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.submit(t, "more", agent.ReasonCompleted)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		if n := count(all(t, log), "compact"); n != 1 {
			t.Fatalf("%d compactions", n)
		}
		w.results(w.runCalls(agent.Options{Journal: log}, after...), want...)
	})
}

// The journal has the hash of the content, not the content.
func TestI6_TheRecordHasTheHash(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("f", "secret content\n")
	log := new(journal.Memory)
	w.runCalls(agent.Options{Journal: log}, reading("f"))
	for _, r := range all(t, log) {
		if r.Kind != "result" {
			continue
		}
		var result struct{ Seen []tool.Seen }
		if err := json.Unmarshal(r.Data, &result); err != nil {
			t.Fatal(err)
		}
		real, err := filepath.EvalSymlinks(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		want := tool.Seen{Path: filepath.ToSlash(real) + "/f", Hash: env.HashOf([]byte("secret content\n"))}
		if len(result.Seen) != 1 || result.Seen[0] != want {
			t.Errorf("seen %+v, want %+v", result.Seen, want)
		}
		return
	}
	t.Error("there is no result")
}

// An agent and its subagent track seen files separately: what one wrote, the other must read.
func TestI6_SubagentsSeeForThemselves(t *testing.T) {
	w := &workplace{t, t.TempDir()}
	w.put("f", "first\n")
	h := w.session(agent.Options{Subagents: &agent.Subagents{}}, byTask(map[string][]llmtest.Step{
		"go": {llmtest.Calls(reading("f")), llmtest.Calls(spawn("child")), llmtest.Calls(wait("agent-1")),
			llmtest.Calls(writing("f", "parent\n")), llmtest.Text("done")},
		"child": {llmtest.Calls(writing("f", "blind\n")), llmtest.Calls(reading("f")),
			llmtest.Calls(writing("f", "child\n")), llmtest.Text("done")},
	})...)
	h.submit(t, "go", agent.ReasonCompleted)
	wantOutputs(t, h, "first", "agent-1", "success", hasOther)
	w.want("f", "child\n")
	blind := h.requests("child")[1]
	if last := blind.Messages[len(blind.Messages)-1]; !strings.Contains(last.Parts[0].(llm.ToolResult).Content.Text(),
		notRead) {
		t.Errorf("the child's first write: %+v", last)
	}
}

// A read-only file is changed only if the host approves.
func TestI6_ReadOnlyFilesAreAskedAbout(t *testing.T) {
	var asked []tool.Request
	approve := func(v tool.Verdict) tool.Authorize {
		return func(_ context.Context, req tool.Request) (tool.Decision, error) {
			asked = append(asked, req)
			return tool.Decision{Verdict: v}, nil
		}
	}
	for _, tt := range []struct {
		name    string
		options agent.Options
		asked   int
		want    string
	}{
		{"nobody", agent.Options{}, 0, "needs a person's approval, and nobody is there to give it. "},
		{"no", agent.Options{Hooks: agent.Hooks{Approve: approve(tool.Deny)}}, 1, "was not permitted"},
		{"yes", agent.Options{Hooks: agent.Hooks{Approve: approve(tool.Allow)}}, 1, "Replaced"},
		{"a hook that leaves it open", agent.Options{Hooks: agent.Hooks{Authorize: tool.AllowUnguarded,
			Approve: approve(tool.Allow)}}, 1, "Replaced"},
		// it is called for every call
		{"a hook that allows it", agent.Options{Hooks: agent.Hooks{Authorize: approve(tool.Allow)}}, 2, "Replaced"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = nil
			w := &workplace{t, t.TempDir()}
			w.put("f", "before\n")
			if err := os.Chmod(filepath.Join(w.dir, "f"), 0o444); err != nil {
				t.Fatal(err)
			}
			w.results(w.runCalls(tt.options, reading("f"), writing("f", "after\n")), "before", tt.want)
			content := "before\n"
			if tt.want == "Replaced" {
				content = "after\n"
			}
			w.want("f", content)
			if len(asked) != tt.asked {
				t.Errorf("asked %d times", len(asked))
			} else if tt.asked > 0 && len(asked[len(asked)-1].Access.Guarded) != 1 {
				t.Errorf("asked about %+v", asked)
			}
		})
	}
}
