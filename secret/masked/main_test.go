package masked_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

func TestMain(m *testing.M) {
	orphans.Adopt()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// world holds a directory with a real environment, a session with a masker in its doors, and all
// that leaves the session.
type world struct {
	t        *testing.T
	dir      string
	journals string
	masker   *secret.Masker
	model    *llmtest.Provider
	local    *env.Local
	options  agent.Options

	mu     sync.Mutex
	events []agent.Event
	log    bytes.Buffer
	calls  bytes.Buffer // what an inner middleware of tools sees, such as one that makes spans
	asked  bytes.Buffer // what an inner middleware of the client sees
	spools map[string]string
}

// newWorld returns a world whose model answers with the steps.
func newWorld(t *testing.T, m *secret.Masker, steps ...llmtest.Step) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), journals: t.TempDir(), masker: m, model: llmtest.NewProvider("test", steps...),
		spools: map[string]string{}}
	var err error
	if w.local, err = env.NewLocal(w.dir,
		env.LocalOptions{Environ: append(os.Environ(), "ATTRACTOR_TEST_TOKEN=never-passed-on")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.local.Close(); err != nil {
			t.Error(err)
		}
	})
	log := slog.New(m.Log(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	outputs := t.TempDir()
	w.options = agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{w.model},
			Middleware: []llm.Middleware{w.seeRequest, llm.Log(log)}},
		Profile:   profile.Profile{Name: "test", Provider: "test", Model: "m", Tools: tools()},
		Env:       env.Logging(w.local, log),
		OutputDir: outputs,
		ID:        "session",
		Retry:     llm.RetryPolicy{Max: -1},
		OnEvent: func(ev agent.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if _, ok := ev.(*agent.ToolCallEnd); ok {
				w.readSpools(outputs)
			}
			w.events = append(w.events, ev)
		},
		Hooks: agent.Hooks{Middleware: []tool.Middleware{w.seeCall}},
	}
	w.options.Limits.KeepOutputs = 1 << 30
	masked.Attach(m, &w.options)
	return w
}

// tools returns the tools of a session.
func tools() []tool.Tool {
	none := llm.ToolDefinition{Parameters: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)}
	panics, fails := none, none
	panics.Name, fails.Name = "panics", "fails"
	type args struct {
		Text string `json:"text"`
	}
	return []tool.Tool{coding.Shell(time.Minute), coding.ReadFile(), coding.WriteFile(), coding.EditFile(),
		coding.ApplyPatch(), coding.Process(), coding.ReadOutput(),
		tool.New(panics, func(_ context.Context, c *tool.Call, _ args) (tool.Result, error) { panic(readKey(c)) }),
		tool.New(fails, func(_ context.Context, c *tool.Call, _ args) (tool.Result, error) {
			return tool.Result{}, &fs.PathError{Op: "open", Path: readKey(c), Err: fs.ErrNotExist}
		})}
}

// readKey returns the content of the file key in the directory of a call.
func readKey(c *tool.Call) string {
	text, err := os.ReadFile(filepath.Join(c.Env.WorkDir(), "key"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (w *world) readSpools(dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		w.t.Error(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil {
			w.spools[f] = string(text)
		}
	}
}

// seeRequest keeps what a middleware behind the masker sees of requests and their errors.
func (w *world) seeRequest(next llm.Handler) llm.Handler {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		text, err := json.Marshal(req)
		if err != nil {
			w.t.Error(err)
		}
		w.mu.Lock()
		w.asked.Write(text)
		w.mu.Unlock()
		return next(ctx, req)
	}
}

// seeCall keeps what a middleware inside the masker gets: the call. Results of the tool are raw
// there.
func (w *world) seeCall(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		w.mu.Lock()
		w.calls.WriteString(c.Name + c.Args)
		w.mu.Unlock()
		return next(ctx, c)
	}
}

// write writes a file of the directory.
func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// run runs a session with an input, to its end.
func (w *world) run(input string) (*agent.Result, error) {
	w.t.Helper()
	log, err := journal.NewDir(w.journals).Create(w.t.Context(), w.options.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	w.options.Journal = log
	w.options.System = masked.Prompt(w.t.Context(), w.masker, w.options)
	s, err := agent.New(w.t.Context(), w.options)
	if err != nil {
		w.t.Fatal(err)
	}
	result, err := s.Submit(w.t.Context(), input)
	if closeErr := s.Close(); closeErr != nil {
		w.t.Error(closeErr)
	}
	checkNumbers(w.t, w.events)
	return result, err
}

// checkNumbers checks that the Seq of the events of each session rise.
func checkNumbers(t *testing.T, events []agent.Event) {
	t.Helper()
	last := map[string]int64{}
	var check func(agent.Event)
	check = func(ev agent.Event) {
		head := ev.Head()
		if head.Seq <= last[head.SessionID] {
			t.Errorf("%s of %s is event %d, after event %d", head.Kind, head.SessionID, head.Seq, last[head.SessionID])
		}
		last[head.SessionID] = head.Seq
		if outer, ok := ev.(*agent.SubagentEvent); ok {
			check(outer.Event)
		}
	}
	for _, ev := range events {
		check(ev)
	}
}

// sink returns all that reached a sink.
func (w *world) sink(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b strings.Builder
	switch name {
	case "log":
		return w.log.String()
	case "journal":
		return readAll(w.t, w.journals)
	case "spools":
		for _, text := range w.spools {
			b.WriteString(text + "\n")
		}
	case "events":
		for _, ev := range w.events {
			text, err := json.Marshal(ev)
			if err != nil {
				w.t.Error(err)
			}
			b.Write(text)
			b.WriteString("\n")
		}
	case "requests":
		return w.asked.String()
	case "calls":
		return w.calls.String()
	default:
		w.t.Fatalf("there is no sink %s", name)
	}
	return b.String()
}

// readAll returns the contents of all files of a directory.
func readAll(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		b.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
