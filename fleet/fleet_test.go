package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// short is the time of leases and claims in tests in which they have to end. Elsewhere a worker
// that a busy machine pauses keeps them.
const short = time.Second

// field is a fleet in a test: an engine in memory, a scripted model behind HTTP, and a file outside
// of all workspaces in which effects are counted.
type field struct {
	t      *testing.T
	engine *memfleet.Engine
	model  *fakellm.Server
	url    string
	out    string
	ttl    time.Duration // of the leases and claims of workers
}

func newField(t *testing.T, o memfleet.Options, model fakellm.Model, faults fakellm.Options) *field {
	t.Helper()
	f := &field{t: t, engine: memfleet.New(o), model: fakellm.New(model, faults),
		out: filepath.Join(t.TempDir(), "effects"), ttl: await.Limit}
	web := httptest.NewServer(f.model)
	f.url = web.URL
	t.Cleanup(func() {
		web.Close()
		if err := f.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// space opens a tenant's space.
func (f *field) space(tenant string) *fleet.Space {
	f.t.Helper()
	s, err := f.engine.Open(f.t.Context(), tenant)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// client returns a client of the default tenant.
func (f *field) client() *fleet.Client { return fleet.NewClient(f.space(fleet.DefaultTenant)) }

// effect returns a turn with a shell command that leaves a line outside of the workspace, after
// more.
func (f *field) effect(line string, more ...string) fakellm.Turn {
	return shell(append(more, fmt.Sprintf("echo %s >> %s", line, f.out))...)
}

// shell returns a turn with a shell command.
func shell(commands ...string) fakellm.Turn {
	args, err := json.Marshal(map[string]string{"command": strings.Join(commands, "\n")})
	if err != nil {
		panic(err)
	}
	return fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: args}}}
}

// effects returns how often each line was left.
func (f *field) effects() map[string]int {
	f.t.Helper()
	data, err := os.ReadFile(f.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(data)) {
		counts[strings.TrimSpace(line)]++
	}
	return counts
}

// worker returns a worker with an engine of its own, as on another machine.
func (f *field) worker(name string, change ...func(*fleet.Worker, *agent.Options)) *fleet.Worker {
	f.t.Helper()
	return f.workerOn(f.engine.Share(), name, change...)
}

func (f *field) workerOn(engine fleet.Engine, name string,
	change ...func(*fleet.Worker, *agent.Options)) *fleet.Worker {
	f.t.Helper()
	transport := new(http.Transport)
	f.t.Cleanup(transport.CloseIdleConnections)
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: f.url,
		HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		f.t.Fatal(err)
	}
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: claude.Profile(),
		System: "You are being tested.", Retry: llm.RetryPolicy{Max: 1, Base: time.Millisecond}}
	w := &fleet.Worker{Engine: engine, Name: name, TTL: f.ttl, Slots: 1, Workspaces: &places{t: f.t},
		Logger: slog.New(slog.NewTextHandler(testLog{f.t}, nil))}
	for _, c := range change {
		c(w, &o)
	}
	w.Host = fleet.Sessions(func(context.Context, *fleet.Job) (agent.Options, error) { return o, nil })
	return w
}

// testLog writes a log into that of a test.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// start runs a worker until stop is called or the test ends. Stop returns what Run returned.
func (f *field) start(w *fleet.Worker) (stop func() error) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(await.Limit):
			return errors.New("Run has not returned")
		}
	})
	f.t.Cleanup(func() {
		if err := stop(); err != nil && !errors.Is(err, fleet.ErrLost) {
			f.t.Errorf("worker %s: %v", w.Name, err)
		}
	})
	return stop
}

// submit submits a task.
func (f *field) submit(t fleet.Task) {
	f.t.Helper()
	if _, isNew, err := f.client().Submit(f.t.Context(), t); err != nil || !isNew {
		f.t.Fatalf("Submit(%s): new %v, %v", t.ID, isNew, err)
	}
}

// wait returns the final status of a task.
func (f *field) wait(id string) fleet.Status {
	f.t.Helper()
	return f.waitOf(fleet.DefaultTenant, id)
}

func (f *field) waitOf(tenant, id string) fleet.Status {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), await.Limit)
	defer cancel()
	s, err := fleet.NewClient(f.space(tenant)).Wait(ctx, id)
	if err != nil {
		f.t.Fatalf("task %s: %v (last status %+v)", id, err, s)
	}
	return s
}

// until polls until a condition holds.
func (f *field) until(what string, holds func() bool) {
	f.t.Helper()
	await.For(f.t, what, holds)
}

// results returns the texts of the results that the model has got in the task's session.
func (f *field) results(id string) []string {
	f.t.Helper()
	log, err := f.space(fleet.DefaultTenant).Journals.Read(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	state, err := agent.Load(f.t.Context(), log)
	if err != nil {
		f.t.Fatal(err)
	}
	var texts []string
	for _, turn := range state.Turns {
		for _, part := range turn.Message.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				texts = append(texts, r.Content.Text())
			}
		}
	}
	return texts
}

// places makes workspaces in directories of the test: files without directories, recorded as one
// object.
type places struct {
	t    *testing.T
	open func(fleet.Task) error // nil allows all
}

func (p *places) Open(ctx context.Context, t fleet.Task, o fleet.Objects,
	last *fleet.WorkspacePoint) (fleet.Workspace, error) {
	if p.open != nil {
		if err := p.open(t); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "fleet-test-")
	if err != nil {
		return nil, err
	}
	local, err := env.NewLocal(dir, env.LocalOptions{Grace: 100 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	w := &place{task: t.ID, objects: o, dir: dir, env: local}
	if last != nil {
		err = w.restore(ctx, last.Pack)
	}
	return w, err
}

type place struct {
	task    string
	objects fleet.Objects
	dir     string
	env     *env.Local
}

func (w *place) Env() env.Environment { return w.env }

func (w *place) files() (map[string][]byte, error) {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(w.dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func (w *place) Point(ctx context.Context) (*fleet.WorkspacePoint, error) {
	files, err := w.files()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(files)
	if err != nil {
		return nil, err
	}
	root := string(env.HashOf(data))
	name := "tree/" + w.task + "/" + root
	_, err = w.objects.Put(ctx, name, bytes.NewReader(data))
	return &fleet.WorkspacePoint{Root: root, Pack: name}, err
}

func (w *place) restore(ctx context.Context, name string) error {
	r, err := w.objects.Open(ctx, name)
	if err != nil {
		return err
	}
	defer r.Close()
	var files map[string][]byte
	if err := json.NewDecoder(r).Decode(&files); err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(w.dir, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (w *place) Patch(_ context.Context, to io.Writer) error {
	files, err := w.files()
	for name := range files {
		_, err = fmt.Fprintf(to, "+%s\n", name)
	}
	return err
}

func (w *place) Close() error { return errors.Join(w.env.Close(), os.RemoveAll(w.dir)) }
