package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

func TestMain(m *testing.M) {
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// world is a directory with a session whose inputs are checked.
type world struct {
	t        *testing.T
	env      *env.Local
	journals *journal.Dir
	recorder *checkpoint.Recorder
	store    *checkpoint.Dir
	model    *llmtest.Provider
	checks   *check.Checks
	session  *agent.Session
	options  agent.Options
	giveAway atomic.Bool     // the next call is left to another process
	noted    json.RawMessage // the last report
}

// newWorld starts a session with checks in a new directory. The model answers with the given steps.
func newWorld(t *testing.T, o check.Options, steps ...llmtest.Step) *world {
	t.Helper()
	w := &world{t: t, model: llmtest.NewProvider("test", steps...), journals: journal.NewDir(t.TempDir())}
	var err error
	if w.env, err = env.NewLocal(t.TempDir(), env.LocalOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.env.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.store, err = checkpoint.OpenDir(t.TempDir(), checkpoint.DirOptions{}); err != nil {
		t.Fatal(err)
	}
	w.recorder = checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: w.store, Owner: "s"})
	w.start(o)
	t.Cleanup(func() {
		if err := w.session.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// start starts the session, or resumes it.
func (w *world) start(o check.Options) {
	w.t.Helper()
	log, err := w.journals.Open(w.t.Context(), "s")
	open := agent.Resume
	if errors.Is(err, os.ErrNotExist) {
		log, err = w.journals.Create(w.t.Context(), "s")
		open = agent.New
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if o.Env == nil {
		o.Env = w.env
	}
	o.Note = func(ctx context.Context, kind string, data json.RawMessage, text string) error {
		if kind != check.NoteKind || text != "" {
			w.t.Errorf("a note %s with the text %q", kind, text)
		}
		w.noted = data
		return w.session.Note(ctx, kind, data, text)
	}
	if o.Tree == nil {
		o.Tree = func(ctx context.Context) (checkpoint.Tree, error) { return w.recorder.Record(ctx, w.env) }
	}
	o.Changed = func(ctx context.Context, before, after env.Hash) (names []string, err error) {
		changes, err := checkpoint.Changes(ctx, w.store, before, after)
		for _, c := range changes {
			names = append(names, c.Path)
		}
		return names, err
	}
	if w.checks, err = check.New(o); err != nil {
		w.t.Fatal(err)
	}
	w.options.ID, w.options.Client = "s", &llm.Client{Providers: []llm.Provider{w.model}}
	w.options.Profile = profile.Profile{Name: "coder", Provider: "test", Model: "m",
		Tools: []tool.Tool{coding.Shell(10 * time.Second)}}
	w.options.Env, w.options.System, w.options.Journal = w.env, "You are a test.", log
	w.options.Middleware = []tool.Middleware{func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			if w.giveAway.Load() {
				return tool.Result{}, tool.ErrNotBegun
			}
			return next(ctx, call)
		}
	}}
	w.options.BeforeStop = w.checks.BeforeStop(nil, 0)
	w.options.Policy.MaxConfirms = w.checks.MaxConfirms(0)
	if w.session, err = open(w.t.Context(), w.options); err != nil {
		w.t.Fatal(err)
	}
}

// submit runs an input and returns what the checks say at its end, after compares with the note.
func (w *world) submit(task string) check.Report {
	w.t.Helper()
	result, err := w.session.Submit(w.t.Context(), task)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.end(result.Reason)
}

func (w *world) end(reason agent.Reason) check.Report {
	w.t.Helper()
	report, err := w.checks.End(w.t.Context(), reason)
	if err != nil {
		w.t.Fatal(err)
	}
	var noted check.Report
	if err := json.Unmarshal(w.noted, &noted); err != nil || noted.Status != report.Status || !noted.Final ||
		noted.Why != report.Why {
		w.t.Errorf("the note is %+v, %v; the report %+v", noted, err, report)
	}
	return report
}

// told returns the last turn that the model read in a request.
func (w *world) told(request int) string {
	w.t.Helper()
	requests := w.model.Requests()
	if request >= len(requests) {
		w.t.Fatalf("there were %d requests", len(requests))
	}
	var told strings.Builder
	for _, part := range requests[request].Messages[len(requests[request].Messages)-1].Parts {
		if text, ok := part.(llm.Text); ok {
			told.WriteString(text.Text)
		}
	}
	return told.String()
}

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.env.WorkDir(), name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func shell(script string) llmtest.Step {
	return llmtest.Calls(llmtest.Call("shell", map[string]string{"command": script}))
}

func want(t *testing.T, got check.Report, status check.Status, why string) {
	t.Helper()
	if got.Status != status || !strings.Contains(got.Why, why) || (status == check.Verified) != (got.Why == "") {
		t.Errorf("the report is %s", got.String())
	}
}

func commands(list ...string) check.Options { return check.Options{Commands: list} }
