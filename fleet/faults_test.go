package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	profile "github.com/attractor-go/attractor/profile/anthropic"
)

// ground is a fleet in these tests: on a server of its own, or in memory.
type ground struct {
	*testing.T
	ctx    context.Context // ends when the test takes too long
	unit   time.Duration   // leases that are to end last for some of them
	engine func() fleet.Engine
	// restart ends the server, as a crash does, and starts it again. It is nil in memory.
	restart func()
}

// inMemory returns a fleet in memory.
func inMemory(t *testing.T) *ground {
	first := memfleet.New(memfleet.Options{})
	g := newGround(t, 10*time.Millisecond)
	g.engine = func() fleet.Engine { return first.Share() }
	return g
}

// onServer returns a fleet on a server.
func onServer(t *testing.T) *ground {
	g := newGround(t, 100*time.Millisecond)
	c := natsfleet.Config{Store: t.TempDir(), Operator: "the operator's secret", Shards: 1, Listen: "127.0.0.1:0",
		Tenants: []natsfleet.Tenant{{Tenant: fleet.Tenant{Name: fleet.DefaultTenant}}}}
	var server *natsfleet.Server
	start := func() {
		var err error
		server, err = natsfleet.StartServer(t.Context(), c)
		g.ok(err)
	}
	start()
	c.Listen = strings.TrimPrefix(server.URL(), "nats://")
	t.Cleanup(func() { g.ok(server.Close()) })
	g.engine = func() fleet.Engine {
		e, err := natsfleet.Open(g.ctx, server.URL(), natsfleet.OpenOptions{Token: string(c.Operator)})
		g.ok(err)
		return e
	}
	g.restart = func() { g.ok(server.Close()); start() }
	return g
}

func newGround(t *testing.T, unit time.Duration) *ground {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return &ground{T: t, ctx: ctx, unit: unit}
}

func (g *ground) ok(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// open opens another engine, as another machine does.
func (g *ground) open() fleet.Engine {
	e := g.engine()
	g.Cleanup(func() { _ = e.Close() }) // at the end
	return e
}

// own opens the space of the tenant on another machine.
func (g *ground) own() *fleet.Space {
	s, err := g.open().Open(g.ctx, fleet.DefaultTenant)
	g.ok(err)
	return s
}

func (g *ground) status(s *fleet.Space, id string) fleet.Status {
	g.Helper()
	_, status, err := s.Tasks.Get(g.ctx, id)
	g.ok(err)
	return status
}

// records returns the kinds of a journal's records.
func (g *ground) records(s *fleet.Space, id string) (kinds []string) {
	g.Helper()
	r, err := s.Journals.Read(g.ctx, id)
	g.ok(err)
	defer r.Close()
	for record, err := range r.Records(g.ctx, 1) {
		g.ok(err)
		kinds = append(kinds, record.Kind)
	}
	return kinds
}

// effectsOfTask is how many effects each task of these checks has, one after the other.
const effectsOfTask = 4

// site is where workers run: with a scripted model, and a file outside of all workspaces in which
// each effect leaves a line.
type site struct {
	*ground
	ttl    time.Duration
	url    string // of the model
	places fleet.Workspaces
	out    string
	// hold is called with the task before the model's response to the call of that number, from 1.
	hold func(task string, call int)
}

func newSite(t *ground, hold func(task string, call int)) *site {
	dir := t.TempDir()
	s := &site{ground: t, ttl: max(25*t.unit, 500*time.Millisecond), out: filepath.Join(dir, "effects"), hold: hold}
	web := httptest.NewServer(fakellm.New(s.respond, fakellm.Options{}))
	t.Cleanup(web.Close)
	s.url = web.URL
	var err error
	s.places, err = workspace.New(workspace.Options{Dir: filepath.Join(dir, "workspaces")})
	t.ok(err)
	return s
}

// patient gives workers a time to live in which a busy machine lets each of them renew its lease.
// It returns the site.
func (s *site) patient() *site {
	s.ttl = max(s.ttl, 3*time.Second)
	return s
}

// taskOfPrompt finds the id of the task in its prompt, between marks that nothing else has.
var taskOfPrompt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\[\[(\w+)\]\]`) })

// respond is the model: it asks for one effect after the other, each of which leaves a line in the
// workspace and one outside.
func (s *site) respond(r *fakellm.Request) fakellm.Turn {
	task := taskOfPrompt().FindStringSubmatch(string(r.Body))[1]
	n := r.Turn() + 1
	s.hold(task, n)
	if n > effectsOfTask {
		return fakellm.Turn{Text: "It is done."}
	}
	command := fmt.Sprintf("echo %s %d >> %s; echo %d >> lines.txt; sleep %.3f", task, n, s.out, n,
		(s.ttl / 10).Seconds())
	args, err := json.Marshal(map[string]string{"command": command})
	s.ok(err)
	return fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: args}}}
}

// worker returns a worker on an engine. Its name is its own.
func (s *site) worker(e fleet.Engine, name string) *fleet.Worker {
	transport := new(http.Transport)
	s.Cleanup(transport.CloseIdleConnections)
	provider, err := anthropic.New(anthropic.Options{APIKey: "test", BaseURL: s.url,
		HTTPClient: &http.Client{Transport: transport}})
	s.ok(err)
	o := agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Profile: profile.Profile(),
		System: "You are being tested.", Retry: llm.RetryPolicy{Max: 1, Base: time.Millisecond}}
	return &fleet.Worker{Engine: e, Name: name, TTL: s.ttl, Slots: 2, Workspaces: s.places, MaxDeaths: 1000,
		Grace:  s.ttl,
		Host:   fleet.Sessions(func(context.Context, *fleet.Job) (agent.Options, error) { return o, nil }),
		Logger: slog.New(slog.NewTextHandler(testLog{s.ground.T}, &slog.HandlerOptions{Level: slog.LevelInfo}))}
}

// start runs a worker. End ends it and returns what Run has returned; it is called when the check
// ends at the latest.
func (s *site) start(w *fleet.Worker) (end func() error) {
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	end = sync.OnceValue(func() error { cancel(); return <-ended })
	s.Cleanup(func() {
		if err := end(); err != nil && !errors.Is(err, fleet.ErrLost) {
			s.Errorf("worker %s ends with: %v", w.Name, err)
		}
	})
	return end
}

// task submits a task of the script.
func (s *site) task(c *fleet.Client, id string) {
	s.Helper()
	_, isNew, err := c.Submit(s.ctx, fleet.Task{ID: id, Prompt: "do [[" + id + "]]", Artifacts: []string{"*.txt"}})
	s.ok(err)
	if !isNew {
		s.Fatalf("task %s is not new", id)
	}
}

// effects returns how often each effect of a task was had.
func (s *site) effects(task string) (had [effectsOfTask + 1]int) {
	s.Helper()
	data, err := os.ReadFile(s.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var id string
		var n int
		if _, err := fmt.Sscan(line, &id, &n); err != nil || n < 1 || n > effectsOfTask {
			s.Fatalf("an effect left %q", line)
		}
		if id == task {
			had[n]++
		}
	}
	return had
}

// told returns which results of a task's calls tell the model that the outcome is unknown.
func (s *site) told(space *fleet.Space, task string) (unknown []bool) {
	s.Helper()
	r, err := space.Journals.Read(s.ctx, task)
	s.ok(err)
	defer r.Close()
	state, err := agent.Load(s.ctx, r)
	s.ok(err)
	for _, turn := range state.Turns {
		for _, part := range turn.Message.Parts {
			if result, ok := part.(llm.ToolResult); ok {
				unknown = append(unknown, strings.Contains(result.Content.Text(), "outcome is unknown"))
			}
		}
	}
	return unknown
}

// proper checks that a task is done, that it had no effect twice, that its model knows which
// effects it had, and that its workspace has those that it knows of. It returns how many the model
// does not know of.
func (s *site) proper(space *fleet.Space, id string) (unknown int) {
	s.Helper()
	status := s.status(space, id)
	if status.State != fleet.Done || status.Result == nil || status.Result.Reason != agent.ReasonCompleted {
		s.Errorf("task %s has ended as %s: %s; %+v", id, status.State, status.Reason, status.Result)
		return 0
	}
	told, had := s.told(space, id), s.effects(id)
	if len(told) != effectsOfTask {
		s.Errorf("task %s: the model has got %d results, want %d", id, len(told), effectsOfTask)
		return 0
	}
	var known []string
	for i, isUnknown := range told {
		n := i + 1
		switch {
		case had[n] > 1:
			s.Errorf("task %s had its effect %d %d times", id, n, had[n])
		case isUnknown:
			unknown++
		case had[n] == 0:
			s.Errorf("task %s: the model believes that the effect %d was had, and it was not", id, n)
		default:
			known = append(known, fmt.Sprint(n))
		}
	}
	if lines := s.lines(space, id); !isSubsequence(known, lines) || !slices.IsSorted(lines) ||
		len(slices.Compact(slices.Clone(lines))) != len(lines) {
		s.Errorf("task %s: the workspace has the lines %q, and the model knows of %q", id, lines, known)
	}
	return unknown
}

// isSubsequence reports whether a has nothing that b does not have, in the same order.
func isSubsequence(a, b []string) bool {
	for _, x := range b {
		if len(a) > 0 && a[0] == x {
			a = a[1:]
		}
	}
	return len(a) == 0
}

// lines returns the lines that the effects have left in the workspace.
func (s *site) lines(space *fleet.Space, id string) []string {
	s.Helper()
	r, err := fleet.NewClient(space).Artifact(s.ctx, id, "lines.txt")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.ok(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	s.ok(err)
	return strings.Fields(string(data))
}

// facts watches a task to its end and returns the facts.
func (s *site) facts(space *fleet.Space, id string) (facts []string) {
	for u, err := range fleet.NewClient(space).Watch(s.ctx, id, 1) {
		if err != nil {
			s.Errorf("the watch of %s ends with: %v", id, err)
			return facts
		}
		if u.N > 0 {
			facts = append(facts, fmt.Sprint(u.N, " ", string(u.Event)))
		}
	}
	return facts
}

// TestP4_WorkersUnderFaults cuts each of three workers off for longer than its lease while their
// lines lose answers, and checks each task, and what those have seen who watch.
func TestP4_WorkersUnderFaults(t *testing.T) {
	for name, ground := range map[string]func(*testing.T) *ground{"memory": inMemory, "server": onServer} {
		t.Run(name, func(t *testing.T) { workersUnderFaults(ground(t)) })
	}
}

func workersUnderFaults(t *ground) {
	const tasks = 8
	s := newSite(t, func(string, int) {})
	space := t.own()
	client := fleet.NewClient(space)
	watched := make([][]string, tasks)
	var watchers sync.WaitGroup
	for i := range tasks {
		s.task(client, fmt.Sprint("t", i))
		watchers.Go(func() { watched[i] = s.facts(space, fmt.Sprint("t", i)) })
	}
	over, end := context.WithCancel(t.ctx)
	defer end()
	var workers sync.WaitGroup
	for i := range 3 {
		workers.Go(func() { s.faultyWorker(over, i) })
	}
	watchers.Wait()
	end()
	workers.Wait()

	unknown, deaths := 0, 0
	for i := range tasks {
		id := fmt.Sprint("t", i)
		unknown += s.proper(space, id)
		deaths += len(t.status(space, id).Deaths)
		if late := s.facts(space, id); !cmp.Equal(watched[i], late) {
			t.Errorf("task %s: who has watched from the beginning has seen other facts than who comes late: %s", id,
				cmp.Diff(late, watched[i]))
		}
	}
	t.Logf("%d tasks, %d deaths, %d outcomes unknown", tasks, deaths, unknown)
}

// faultyWorker runs a worker until over ends. Once it is cut off for longer than its lease, and
// comes back as another one.
func (s *site) faultyWorker(over context.Context, i int) {
	for life := 0; over.Err() == nil; life++ {
		line := &cutEngine{Engine: s.open(), loses: int64(11 + i)}
		ctx, cancel := context.WithCancel(over)
		if life == 0 {
			at := s.ttl * time.Duration(1+i) / 4
			cut, mend := time.AfterFunc(at, func() { line.cut.Store(true) }),
				time.AfterFunc(at+2*s.ttl, func() { line.cut.Store(false) })
			defer cut.Stop()
			defer mend.Stop()
		}
		err := s.worker(line, fmt.Sprintf("w%d.%d", i, life)).Run(ctx)
		cancel()
		if err != nil && !errors.Is(err, fleet.ErrLost) && !errors.Is(err, errCut) {
			s.Errorf("worker %d ends with: %v", i, err)
		}
	}
}

// TestP4_ZombieOverAServer cuts a worker off while it waits for its model. When it comes back,
// somebody else has done its task, and the model asks it for one more effect.
func TestP4_ZombieOverAServer(test *testing.T) {
	t := onServer(test)
	asked, goOn := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	s := newSite(t, func(_ string, call int) {
		if call == 2 && held.CompareAndSwap(false, true) {
			close(asked)
			<-goOn
		}
	}).patient()
	answer := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(answer)
	space := t.own()
	client := fleet.NewClient(space)
	line := &cutEngine{Engine: t.open()}
	zombie := make(chan error, 1)
	go func() { zombie <- s.worker(line, "zombie").Run(t.ctx) }()
	s.task(client, "t")
	<-asked
	line.cut.Store(true)
	end := s.start(s.worker(t.open(), "next"))
	_, err := client.Wait(t.ctx, "t")
	t.ok(err)
	before := t.records(space, "t")
	line.cut.Store(false)
	answer()
	if err := <-zombie; !errors.Is(err, fleet.ErrLost) {
		t.Errorf("the zombie ends with %v, want ErrLost", err)
	}
	t.ok(end())
	if after := t.records(space, "t"); !slices.Equal(after, before) {
		t.Errorf("the zombie has written: %s, before it %s", after, before)
	}
	if unknown := s.proper(space, "t"); unknown > 0 {
		t.Errorf("%d outcomes are unknown, and no effect was under way", unknown)
	}
	status := t.status(space, "t")
	if status.Worker != "next" || len(status.Deaths) != 1 || status.Deaths[0].Worker != "zombie" {
		t.Errorf("the status is %+v", status)
	}
}

// TestP4_DrainOverAServer checks that a worker that is drained gives its tasks away between two
// steps.
func TestP4_DrainOverAServer(test *testing.T) {
	t := onServer(test)
	const tasks = 3
	var begun sync.WaitGroup
	begun.Add(tasks)
	var once sync.Map
	s := newSite(t, func(task string, call int) {
		if _, again := once.LoadOrStore(task, true); !again && call == 1 {
			begun.Done()
		}
	}).patient()
	space := t.own()
	client := fleet.NewClient(space)
	e := t.open()
	drained := make(chan error, 1)
	go func() { drained <- s.worker(e, "drained").Run(t.ctx) }()
	for i := range tasks {
		s.task(client, fmt.Sprint("t", i))
	}
	begun.Wait()
	t.ok(t.open().Leases().Drain(t.ctx, "drained"))
	if err := <-drained; err != nil {
		t.Errorf("the drained worker ends with %v", err)
	}
	for i := range tasks {
		if status := t.status(space, fmt.Sprint("t", i)); !status.State.Final() && status.State != fleet.Queued {
			t.Errorf("task %s is %s after the drain", status.ID, status.State)
		}
	}
	end := s.start(s.worker(t.open(), "next"))
	for i := range tasks {
		id := fmt.Sprint("t", i)
		status, err := client.Wait(t.ctx, id)
		t.ok(err)
		if len(status.Deaths) > 0 {
			t.Errorf("task %s has seen deaths: %+v", id, status.Deaths)
		}
		if unknown := s.proper(space, id); unknown > 0 {
			t.Errorf("task %s: %d outcomes are unknown", id, unknown)
		}
	}
	t.ok(end())
}

// TestP7_WorkersSurviveARestart restarts what keeps the fleet while workers have effects. The same
// workers or others do the rest.
func TestP7_WorkersSurviveARestart(test *testing.T) {
	t := onServer(test)
	const tasks = 4
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	s := newSite(t, func(_ string, call int) {
		if call == 2 {
			begin()
		}
	})
	client := fleet.NewClient(t.own())
	for i := range tasks {
		s.task(client, fmt.Sprint("t", i))
	}
	over, end := context.WithCancel(t.ctx)
	defer end()
	var workers sync.WaitGroup
	for i := range 2 {
		workers.Go(func() { s.persistentWorker(over, i) })
	}
	<-begun
	t.restart()
	space := t.own()
	for i := range tasks {
		_, err := fleet.NewClient(space).Wait(t.ctx, fmt.Sprint("t", i))
		t.ok(err)
	}
	end()
	workers.Wait()
	for i := range tasks {
		s.proper(space, fmt.Sprint("t", i))
	}
}

// persistentWorker runs a worker until over ends. One that has lost its lease is followed by
// another.
func (s *site) persistentWorker(over context.Context, i int) {
	e := s.open()
	for life := 0; over.Err() == nil; life++ {
		err := s.worker(e, fmt.Sprintf("w%d.%d", i, life)).Run(over)
		if err != nil && over.Err() == nil {
			s.Logf("worker %d.%d ends with: %v", i, life, err)
		}
	}
}
