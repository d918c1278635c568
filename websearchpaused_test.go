package attractor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// pendingTurn returns an answer whose search has no result yet: it is a pause, or runs a call, too.
func pendingTurn(t *testing.T, mixed bool) fakellm.Turn {
	turn := fakellm.Turn{Thinking: "Hm.", Searches: []llm.WebSearch{{Query: "go news"}}, Pending: true, Text: "Wait. ",
		Stop: "pause_turn"}
	if mixed {
		turn.Stop = ""
		turn.Calls = calls(t, "glob", object{"pattern": "*.go"}).Calls
	}
	return turn
}

// A search without a result goes back when the vendor goes on with it, and its result in the next
// answer belongs to it from then on, also after a resume.
func TestV7_PendingSearchGoesOn(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		b := newBench(t, pendingTurn(t, mixed), fakellm.Turn{Text: "Here."}, fakellm.Turn{Text: "b"},
			fakellm.Turn{Text: "c"})
		c := b.searching()
		id, result := b.submit(c, "the task")
		if result.Reason != agent.ReasonCompleted || !strings.HasSuffix(result.Text, "Here.") {
			t.Errorf("mixed %v: %q, %s", mixed, result.Text, result.Reason)
		}
		c.Resume = id
		for _, c.WebSearch = range []bool{true, false} {
			_, result = b.submit(c, "more")
			if last := b.lastRequest(); result.Reason != agent.ReasonCompleted ||
				strings.Count(last, `"server_tool_use"`) != 1 || strings.Count(last, `"web_search_tool_result"`) != 1 {
				t.Errorf("mixed %v: %s, %s", mixed, result.Reason, talk(last))
			}
		}
		b.replays(id)
	}
}

// submitPending submits two tasks. While the model answers the first one, with a pending search, do
// is called with the session, and each request from then on is without that search.
func submitPending(t *testing.T, mixed bool, do func(*agent.Session) error) {
	t.Helper()
	b := newBench(t, pendingTurn(t, mixed), fakellm.Turn{Text: "Here."}, fakellm.Turn{Text: "b"})
	c := b.searching()
	var session *agent.Session
	var once sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			if err := do(session); err != nil {
				t.Error(err)
			}
		})
		b.server.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", web.URL)
	setup, session := b.begin(c)
	_, first := session.Submit(t.Context(), "the task")
	result, second := session.Submit(t.Context(), "more")
	if err := errors.Join(first, second, session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	if result.Reason != agent.ReasonCompleted {
		t.Errorf("%s, %+v", result.Reason, result)
	}
	for _, r := range b.server.Requests()[1:] {
		if strings.Contains(string(r.Body), "server_tool_use") {
			t.Errorf("mixed %v: request %d: %s", mixed, r.N, talk(string(r.Body)))
		}
	}
}

// A search without a result that the vendor cannot go on with is left out, because something else
// came after it.
func TestV7_PendingSearchIsLeft(t *testing.T) {
	for name, do := range map[string]func(*agent.Session) error{
		"steer": func(s *agent.Session) error { return s.Steer(t.Context(), "be quick") },
		"note":  func(s *agent.Session) error { return s.Note(t.Context(), "k", json.RawMessage(`1`), "a note") },
	} {
		for _, mixed := range []bool{false, true} {
			t.Run(name, func(t *testing.T) { submitPending(t, mixed, do) })
		}
	}
}

// A resume without the search leaves a pending one out, and so does a limit before a new input.
func TestV7_PendingSearchAfterALimit(t *testing.T) {
	for _, mixed := range []bool{false, true} {
		for _, on := range []bool{false, true} {
			b := newBench(t, pendingTurn(t, mixed), fakellm.Turn{Text: "Here."})
			c := b.searching()
			id, first := b.submit(c, "the task", func(o *agent.Options) { o.Policy.MaxTurns = 1 })
			if first.Reason != agent.ReasonMaxTurns {
				t.Errorf("it ended for %s", first.Reason)
			}
			c.Resume, c.WebSearch = id, on
			for _, text := range []string{"", "more"} {
				if text == "" && on {
					continue
				}
				_, result := b.submit(c, text, func(o *agent.Options) { o.Policy.MaxTurns = 0 })
				if last := b.lastRequest(); result.Reason != agent.ReasonCompleted ||
					strings.Contains(last, "server_tool_use") {
					t.Errorf("mixed %v, on %v, %q: %s, %s", mixed, on, text, result.Reason, talk(last))
				}
			}
		}
	}
}

// A compaction that takes a search away takes its result from what goes back, too.
func TestV7_PendingSearchAndCompaction(t *testing.T) {
	b := newBench(t, pendingTurn(t, false), fakellm.Turn{Text: "Here."}, fakellm.Turn{Text: "A summary."},
		fakellm.Turn{Text: "b"})
	setup, err := prepare(t.Context(), b.searching())
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.Compaction.KeepTurns = 1
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(errors.Join(err, setup.Close()))
	}
	_, first := session.Submit(t.Context(), "the task")
	compacted := session.Compact(t.Context())
	result, second := session.Submit(t.Context(), "more")
	if err := errors.Join(first, compacted, second, session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	if last := b.lastRequest(); result.Reason != agent.ReasonCompleted ||
		strings.Contains(last, "web_search_tool_result") || !strings.Contains(last, "Here.") {
		t.Errorf("%s: %s", result.Reason, talk(last))
	}
}

// replays checks that a session's journal replays.
func (b *bench) replays(id string) {
	b.Helper()
	log, err := b.store.Read(context.Background(), id)
	if err == nil {
		err = errors.Join(agent.Replay(context.Background(), log, agent.ReplayOptions{}), log.Close())
	}
	if err != nil {
		b.Error(err)
	}
}

// talk returns the messages of a request.
func talk(body string) string { return body[strings.Index(body, `"messages":`):] }

// An attempt that breaks off after a search is billed for it, and the event of it is live and in
// the journal.
func TestV7_SearchOfABrokenAttempt(t *testing.T) {
	b := newBench(t)
	b.server = fakellm.New(fakellm.Script(searchTurn()), fakellm.Options{
		Faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultCut, After: 6}}})
	web := httptest.NewServer(b.server)
	t.Cleanup(web.Close)
	c := b.searching()
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", web.URL)
	var live []agent.Event
	id, result := b.submit(c, "the task", func(o *agent.Options) {
		o.OnEvent = func(ev agent.Event) { live = append(live, ev) }
	})
	if len(b.server.Requests()) != 2 || result.Usage.Searches != 2 {
		t.Errorf("%d requests, usage %+v", len(b.server.Requests()), result.Usage)
	}
	b.sameSearches(id, live, 4)
	b.replays(id)
}
