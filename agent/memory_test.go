package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile"
	claude "github.com/attractor-go/attractor/profile/anthropic"
)

var (
	sessionCount = flag.Int("sessions", 100,
		"sessions of TestA19_ManySessions, which holds 1000 and more to their memory")
	heapProfile = flag.String("sessions.heap", "",
		"write the heap of TestA19_ManySessions, with its sessions at rest, to this file")
)

// idleSession is the memory limit of a session at rest in addition to its history, in bytes. It
// includes what the process keeps for the goroutines that all sessions had at once.
const idleSession = 11 << 10

// manySessions is the number of sessions at which shared memory no longer matters per session.
const manySessions = 1000

// fleet holds many sessions with one client, one environment and one directory of journals.
type fleet struct {
	testing.TB
	turns    []fakellm.Turn // the script of each session
	rounds   int            // of tool calls in it
	atOnce   int            // how many sessions run at a time
	client   *llm.Client
	profile  profile.Profile
	env      *env.Local
	dir      *journal.Dir
	outputs  string
	sessions []*agent.Session
	runs     int
}

// Many sessions work in parallel and need little memory at rest. After Close they leave nothing
// behind.
//
// The heap is measured after a full collection: first when one session has run and ended, so that
// shared memory exists, and then with all sessions at rest, when server and connections are gone.
// The difference, less the bytes of the histories, belongs to the sessions. A history is its turns
// with their parts and texts, counted once. All other memory counts: the encoded copy for the next
// request, the events, the tools and the journal.
func TestA19_ManySessions(t *testing.T) {
	f := newFleet(t, twoRounds...)
	before := f.left()
	f.run(1)
	f.close()
	empty := heap()
	least := int64(1) << 62
	for range 3 { // other memory of the process only adds, so the minimum is the sessions'
		f.run(*sessionCount)
		f.client.Providers = nil
		used := int64(heap()) - int64(empty)
		f.writeHeap()
		var histories int64
		for _, s := range f.sessions {
			histories += historyBytes(s)
		}
		n := int64(len(f.sessions))
		each := (used - histories) / n
		t.Logf("%d sessions at rest: %d bytes each, %d of them history, %d beside it", n, used/n, histories/n, each)
		if least = min(least, each); least <= idleSession || n < manySessions {
			break
		}
		f.close()
	}
	if least > idleSession && *sessionCount >= manySessions {
		t.Errorf("%d bytes beside the history, want at most %d", least, idleSession)
	}
	f.close()
	var after remains
	// Goroutines and descriptors of connections that were just closed end a little later.
	if !await.Holds(func() bool { after = f.left(); return !after.moreThan(before) }) {
		t.Errorf("left behind: %+v, before: %+v", after, before)
	}
}

// twoRounds is the script of a session that reads a file and looks for others.
var twoRounds = []fakellm.Turn{
	{Calls: []fakellm.Call{{Name: "read_file", Args: json.RawMessage(`{"file_path":"a.txt"}`)}}},
	{Calls: []fakellm.Call{{Name: "glob", Args: json.RawMessage(`{"pattern":"*.txt"}`)}}},
	{Text: "done"},
}

func newFleet(t testing.TB, turns ...fakellm.Turn) *fleet {
	t.Helper()
	rounds := 0
	for _, turn := range turns {
		if len(turn.Calls) > 0 {
			rounds++
		}
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(local.WorkDir(), "a.txt"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &fleet{TB: t, turns: turns, rounds: rounds, atOnce: math.MaxInt, env: local,
		dir: journal.NewDir(t.TempDir()), outputs: t.TempDir(), client: new(llm.Client), profile: claude.Profile()}
}

// run starts sessions that run the script each, and waits until they are at rest.
func (f *fleet) run(n int) {
	f.Helper()
	defer f.serve()()
	f.sessions = make([]*agent.Session, n)
	f.runs++
	f.each(n, f.one)
}

// serve starts the model. The function that it returns ends it, with all connections.
func (f *fleet) serve() (stop func()) {
	f.Helper()
	goroutines := runtime.NumGoroutine()
	web := httptest.NewServer(fakellm.New(fakellm.Script(f.turns...), fakellm.Options{}))
	transport := &http.Transport{MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: web.URL,
		HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		f.Fatal(err)
	}
	f.client.Providers = []llm.Provider{provider}
	return func() {
		transport.CloseIdleConnections()
		web.Close()
		// Goroutines of the connections hold buffers until they end.
		await.For(f, "the end of the connections", func() bool { return runtime.NumGoroutine() <= goroutines })
	}
}

// each calls a function for each of n sessions, atOnce at a time.
func (f *fleet) each(n int, do func(i int) error) {
	var all sync.WaitGroup
	running := make(chan struct{}, min(n, f.atOnce))
	for i := range n {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			if err := do(i); err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
}

// options returns the options of a session.
func (f *fleet) options() agent.Options {
	return agent.Options{Client: f.client, Profile: f.profile, Env: f.env, System: "Be quick.", OutputDir: f.outputs}
}

// one runs one session until it is at rest.
func (f *fleet) one(i int) error {
	ctx, o := context.Background(), f.options()
	o.ID = fmt.Sprintf("run-%d-session-%d", f.runs, i)
	file, err := f.dir.Create(ctx, o.ID)
	if err != nil {
		return err
	}
	o.Journal = file
	if f.sessions[i], err = agent.New(ctx, o); err != nil {
		return errors.Join(err, file.Close())
	}
	result, err := f.sessions[i].Submit(ctx, "look")
	if err == nil && (result.Text != "done" || result.ToolRounds != f.rounds) {
		err = fmt.Errorf("session %d came to %+v", i, result)
	}
	return err
}

func (f *fleet) close() {
	f.Helper()
	for _, s := range f.sessions {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	}
	f.sessions = nil
}

// heap returns the heap in use after a full collection. The second collection frees what finalizers
// and pools held through the first.
func heap() uint64 {
	least := ^uint64(0)
	for range 5 { // pools and finalizers take more than one collection
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return least
}

// historyBytes returns the size of a session's turns, with shared parts counted once.
func historyBytes(s *agent.Session) int64 {
	n := 0
	for _, turn := range s.History() {
		n += int(unsafe.Sizeof(turn)) + len(turn.ResponseID) + partBytes(turn.Message.Parts)
	}
	return int64(n)
}

// partBytes returns the size of the texts and data in parts.
func partBytes(parts llm.Parts) int {
	n := 0
	for _, part := range parts {
		n += int(unsafe.Sizeof(part))
		switch p := part.(type) {
		case llm.Text:
			n += int(unsafe.Sizeof(p)) + len(p.Text)
		case llm.ToolCall:
			n += int(unsafe.Sizeof(p)) + len(p.ID) + len(p.Name) + len(p.Args)
		case llm.ToolResult:
			n += int(unsafe.Sizeof(p)) + len(p.CallID) + len(p.Name) + partBytes(p.Content)
		}
	}
	return n
}

// remains counts what sessions could leave behind.
type remains struct{ goroutines, descriptors, processes, files int }

// moreThan reports whether anything was added. Fewer of something belonged to earlier tests, whose
// ends may still be under way.
func (r remains) moreThan(before remains) bool {
	return r.goroutines > before.goroutines || r.descriptors > before.descriptors || r.processes > before.processes ||
		r.files > before.files
}

// left counts what exists now.
func (f *fleet) left() remains {
	f.Helper()
	r := remains{goroutines: runtime.NumGoroutine(), processes: children(f.TB)}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		f.Skipf("descriptors cannot be counted here: %v", err)
	}
	outputs, err := os.ReadDir(f.outputs)
	if err != nil {
		f.Fatal(err)
	}
	r.descriptors, r.files = len(fds), len(outputs)
	return r
}

// children returns the number of processes below this one.
func children(t testing.TB) int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil && !os.IsNotExist(err) { // the thread has ended meanwhile
			t.Fatal(err)
		}
		n += len(strings.Fields(string(data)))
	}
	return n
}

func (f *fleet) writeHeap() {
	f.Helper()
	if *heapProfile == "" {
		return
	}
	out, err := os.Create(*heapProfile)
	if err == nil {
		err = errors.Join(pprof.WriteHeapProfile(out), out.Close())
	}
	if err != nil {
		f.Error(err)
	}
}
