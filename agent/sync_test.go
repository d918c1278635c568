package agent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// heldLog is a journal one of whose syncs waits and then returns what outcome returns. It counts
// all of them.
type heldLog struct {
	journal.Memory
	held    int64 // the number of the sync, from 1; 0 for none
	release chan struct{}
	outcome func() error
	syncs   atomic.Int64
}

func (l *heldLog) Sync(ctx context.Context) error {
	if l.syncs.Add(1) != l.held {
		return nil
	}
	<-l.release
	return l.outcome()
}

// syncScript is a call with effects, and an answer with a thought and a text. It needs four syncs:
// beside the first request, of the intent, beside the second request, and at the end.
var syncScript = []fakellm.Turn{
	{Text: "I begin.", Calls: []fakellm.Call{useTool("change", "a")}},
	{Thinking: "I think.", Text: "It is done."},
}

// syncSession starts a session on a journal that talks to a server, and returns where its events
// go.
func syncSession(t *testing.T, log journal.Log, tools ...tool.Tool) (*agent.Session, *fakellm.Server, *[]agent.Event) {
	t.Helper()
	server := fakellm.New(fakellm.Script(syncScript...), fakellm.Options{})
	provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: "http://x.test",
		HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	events := new([]agent.Event)
	s, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}},
		Env: local, Journal: log,
		System: "You are being tested.", OnEvent: func(ev agent.Event) { *events = append(*events, ev) },
		Profile: profile.Profile{Name: "test", Provider: "anthropic", Model: "claude-sonnet-5-5", Tools: tools}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, server, events
}

// The request travels while the journal is synced. Until the sync has returned, nothing of the
// answer is shown or committed. If it fails, nothing of the answer ever is, and the session ends as
// with any failure of its journal.
func TestK3_SyncWhileTheRequestTravels(t *testing.T) {
	disk := &diskError{errors.New("input/output error")}
	for name, c := range map[string]struct {
		outcome func() error
		then    func(*agent.Session)                  // in place of the sync's return
		check   func(t *testing.T, err, closed error) // nil if all goes well
		silent  bool                                  // no event reports the end
	}{
		"returns": {outcome: func() error { return nil }},
		"fails": {outcome: func() error { return disk }, check: func(t *testing.T, err, closed error) {
			if !errors.Is(err, disk) || !strings.Contains(err.Error(), "cannot keep the session") ||
				!errors.Is(closed, disk) {
				t.Errorf("Submit = %v, Close = %v", err, closed)
			}
		}},
		"conflict": {outcome: func() error { return fmt.Errorf("%w: fenced", journal.ErrConflict) }, silent: true,
			check: func(t *testing.T, err, closed error) {
				if !errors.Is(err, agent.ErrTakenOver) || !errors.Is(closed, agent.ErrTakenOver) {
					t.Errorf("Submit = %v, Close = %v", err, closed)
				}
			}},
		"panics": {outcome: func() error { panic("broken") }, check: checkBrokenSync},
		"exits":  {outcome: func() error { runtime.Goexit(); return nil }, check: checkBrokenSync},
		"hangs": {then: func(s *agent.Session) { s.Interrupt() }, check: func(t *testing.T, err, closed error) {
			if !errors.Is(err, agent.ErrStuck) || !strings.Contains(err.Error(), "the journal's Sync") ||
				!errors.Is(closed, agent.ErrStuck) {
				t.Errorf("Submit = %v, Close = %v", err, closed)
			}
		}},
	} {
		for request, held := range map[int]int64{1: 1, 2: 3} {
			t.Run(fmt.Sprintf("%s, request %d", name, request), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log := &heldLog{held: held, release: make(chan struct{}), outcome: c.outcome}
					s, server, events := syncSession(t, log, echo("change"))
					ended := make(chan error)
					go func() { ended <- second(s.Submit(context.Background(), "go")) }()
					synctest.Wait() // the server has written all of its answer
					if n := len(server.Requests()); n != request {
						t.Fatalf("%d requests have arrived, want %d", n, request)
					}
					seen, records := len(*events), log.Len()
					if _, ok := (*events)[seen-1].(*agent.StepStart); !ok {
						t.Errorf("the last event is %T", (*events)[seen-1])
					}
					if c.then == nil {
						close(log.release)
					} else {
						c.then(s)
					}
					err := <-ended
					closed := s.Close()
					if c.then != nil {
						defer close(log.release)
					}
					checkEventsOf(t, *events, c.silent)
					if c.check == nil {
						if err != nil || closed != nil || log.syncs.Load() != 5 { // the last is that of Close
							t.Errorf("Submit = %v, Close = %v after %d syncs", err, closed, log.syncs.Load())
						}
						return
					}
					c.check(t, err, closed)
					if log.Len() != records {
						t.Errorf("%d records were committed", log.Len()-records)
					}
					for _, ev := range (*events)[seen:] {
						switch ev.(type) {
						case *agent.AssistantTextStart, *agent.AssistantTextDelta, *agent.ThinkingDelta,
							*agent.AssistantTextEnd, *agent.ToolCallStart:
							t.Errorf("%T was emitted", ev)
						}
					}
				})
			})
		}
	}
}

func checkBrokenSync(t *testing.T, err, closed error) {
	var broken *agent.HostError
	if !errors.As(err, &broken) || broken.What != "the journal's Sync" || !errors.As(closed, &broken) {
		t.Errorf("Submit = %v, Close = %v", err, closed)
	}
}

// checkEventsOf is checkEvents, without the ends for a session that ends silently.
func checkEventsOf(t *testing.T, events []agent.Event, silent bool) {
	t.Helper()
	if !silent {
		checkEvents(t, events)
	} else if ends := endEvents(events); ends != "" {
		t.Errorf("the ends are %s", ends)
	}
}

// A journal is synced only if it has records that no sync has covered: once for the intent of calls
// with effects, once beside each request, and when Submit or Advance returns.
func TestK3_NoSyncWithoutRecords(t *testing.T) {
	for name, c := range map[string]struct {
		access tool.Access
		drive  func(s *agent.Session) error
		want   int64
	}{
		"Submit, with effects": {writes,
			func(s *agent.Session) error { return second(s.Submit(context.Background(), "go")) }, 4},
		"Submit, read-only": {readOnly,
			func(s *agent.Session) error { return second(s.Submit(context.Background(), "go")) }, 3},
		// Each step but the last has records. No request has any left to wait for.
		"Advance, with effects": {writes, advanceToRest, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := new(heldLog)
				s, server, events := syncSession(t, log,
					newTool("change", c.access, func(context.Context, *tool.Call) (tool.Result, error) {
						return tool.Text("changed"), nil
					}))
				if err := c.drive(s); err != nil {
					t.Error(err)
				}
				if got := log.syncs.Load(); got != c.want || len(server.Requests()) != 2 {
					t.Errorf("%d syncs for %d requests, want %d", got, len(server.Requests()), c.want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if !slices.ContainsFunc(*events, func(ev agent.Event) bool {
					_,
						ok := ev.(*agent.ThinkingDelta)
					return ok
				}) {
					t.Error("the thought was not shown")
				}
			})
		})
	}
}

// advanceToRest takes single steps until the session is at rest.
func advanceToRest(s *agent.Session) error {
	if err := s.Begin(context.Background(), "go"); err != nil {
		return err
	}
	for {
		step, err := s.Advance(context.Background())
		if err != nil || step.Act == agent.ActRest {
			return err
		}
	}
}
