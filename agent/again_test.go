package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool/coding"
)

// shelf is a store with the log of a universe, in one of its processes. The creation of the log is
// the first writing call.
type shelf struct {
	journal.Store
	*universe
	created *bool
	fault   func(n int) (effect bool, err error)
	log     *unreliable
}

func (s *shelf) Open(context.Context, string) (journal.Log, error) {
	if !*s.created {
		return nil, fs.ErrNotExist
	}
	s.take()
	return s.log, nil
}

func (s *shelf) Create(context.Context, string) (journal.Log, error) {
	s.take()
	if _, err := s.log.call(func() error { *s.created = true; return nil }); err != nil {
		return nil, err
	}
	return s.log, nil
}

func (s *shelf) take() {
	s.log = &unreliable{Log: s.universe.log, fault: s.fault, durable: s.synced}
	s.lives = append(s.lives, s.log)
}

// program is what Open and a Key are for: it does not ask what an earlier process has done.
func (s *shelf) program(ctx context.Context) (results []*agent.Result, history []agent.Turn, err error) {
	session, err := agent.Open(ctx, s, agent.Options{ID: "session", Client: s.client, Env: s.env,
		System:  "You are being tested.",
		Profile: profile.Profile{Name: "test", Provider: "anthropic", Model: "claude-sonnet-5-5", Tools: s.tools()},
		Retry:   llm.RetryPolicy{Base: time.Millisecond, Jitter: func() float64 { return 0 }}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	for i, task := range []string{firstTask, secondTask} {
		result, err := session.Submit(ctx, task, agent.Key(fmt.Sprint("task ", i)))
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result)
	}
	return results, session.History(), nil
}

// texts returns what the results say about the outcome. Sums are those of the last process.
func texts(results []*agent.Result) (said []string) {
	for _, r := range results {
		said = append(said, string(r.Reason)+": "+r.Text)
	}
	return said
}

// A program is killed at every writing call of its store, before and after it took effect, with and
// without unsynced records, and simply run again. Each task is given once, no call runs twice, and
// the outcome is that of a program that nobody has killed.
func TestQ2_AProgramThatIsKilledAnywhereAndRunAgain(t *testing.T) {
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	whole := &shelf{universe: newUniverse(t, local), created: new(bool), fault: crash{}.fault}
	results, want, err := whole.program(t.Context())
	calls := whole.log.calls
	said := []string{"completed: The first is done.", "completed: The second is done."}
	if diff := gocmp.Diff(said, texts(results)); diff != "" || err != nil || calls < 30 {
		t.Fatalf("%v, %d calls of the journal, %s", err, calls, diff)
	}
	crashes := 0
	for at := 1; at <= calls; at++ {
		for _, c := range []crash{{at: at}, {at: at, effect: true}, {at: at, effect: true, powerless: true}} {
			t.Run(c.String(), func(t *testing.T) {
				s := &shelf{universe: newUniverse(t, local), created: new(bool)}
				for _, c := range []crash{c, {at: 1 + at*7%11, effect: at%2 == 0, powerless: at%3 == 0}} {
					s.fault = c.fault
					_, _, err := s.program(t.Context())
					if err == nil {
						break
					}
					if !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
					crashes++
					s.cut(c, &process{log: s.log})
				}
				s.fault = crash{}.fault
				for _, run := range []string{"again", "once more"} {
					results, history, err := s.program(t.Context())
					if diff := gocmp.Diff(said, texts(results)); diff != "" || err != nil {
						t.Fatalf("%s: %v\n%s", run, err, diff)
					}
					s.check(whole.universe, history, want)
				}
			})
		}
	}
	if crashes < 4*calls {
		t.Errorf("%d crashes", crashes)
	}
}

// openAgain opens the session of a store with answers of the model.
func openAgain(t *testing.T, store journal.Store, o agent.Options,
	steps ...llmtest.Step) (*agent.Session, *llmtest.Provider) {
	t.Helper()
	model := llmtest.NewProvider("test", steps...)
	o.ID, o.Client, o.System = "s", &llm.Client{Providers: []llm.Provider{model}}, "You are being tested."
	o.Profile = profile.Profile{Name: "test", Provider: "test", Model: "m", Tools: o.Tools}
	o.Tools = nil
	s, err := agent.Open(t.Context(), store, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, model
}

// What a task with a key has come to is returned again, also if there were others since; one that
// has not come to its end goes on.
func TestQ2_SubmitOfAKeyThatTheSessionHasHad(t *testing.T) {
	store, ctx := journal.NewMemoryStore(false), t.Context()
	o := agent.Options{Env: emptyEnv(t), History: []llm.Message{llm.User("before")}}
	s, _ := openAgain(t, store, o, llmtest.Text("one"), llmtest.Text("two"), llmtest.Text("three"))
	submit := func(key, want string) {
		t.Helper()
		result, err := s.Submit(ctx, "task "+key, agent.Key(key))
		if got := strings.Join(texts([]*agent.Result{result}), ""); err != nil || got != want {
			t.Errorf("Submit of %s = %s, %v, want %s", key, got, err, want)
		}
	}
	reopen := func(steps ...llmtest.Step) (model *llmtest.Provider) {
		t.Helper()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(ctx, "task 1", agent.Key("1")); !errors.Is(err, agent.ErrClosed) {
			t.Errorf("Submit in a closed session: %v", err)
		}
		s, model = openAgain(t, store, o, steps...)
		return model
	}
	submit("1", "completed: one")
	submit("2", "completed: two")
	submit("1", "completed: one")
	reopen(llmtest.Error(errors.New("no network"))) // with the same options, also those for a new session
	submit("1", "completed: one")
	submit("2", "completed: two")
	if _, err := s.Submit(ctx, "task 3", agent.Key("3")); err == nil {
		t.Error("a failed model call is no error")
	}
	model := reopen(llmtest.Text("three"), llmtest.Text("four"))
	submit("2", "completed: two")
	submit("3", "completed: three")
	if err := s.FollowUp(ctx, "more of 3"); err != nil {
		t.Fatal(err)
	}
	submit("3", "completed: four")
	submit("1", "completed: one")
	submit("3", "completed: four")
	if n := len(model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
	tasks := 0
	for _, turn := range s.History() {
		if turn.Kind == agent.TurnUser && turn.Origin == agent.OriginUser {
			tasks++
		}
	}
	if tasks != 4 {
		t.Errorf("%d tasks in the history", tasks)
	}
}

// A task that waits for an answer is not taken for the answer when it comes again.
func TestQ2_AKeyIsNoAnswer(t *testing.T) {
	store, ctx := journal.NewMemoryStore(false), t.Context()
	o := agent.Options{Env: emptyEnv(t), Questions: &agent.Questions{}}
	o.Tools = append(o.Tools, coding.AskUser())
	s, _ := openAgain(t, store, o, llmtest.Calls(ask("which?")), llmtest.Text("the red one"))
	for range 2 {
		result, err := s.Submit(ctx, "paint it", agent.Key("paint"))
		if err != nil || result.Reason != agent.ReasonAwaitingInput {
			t.Fatalf("%+v, %v", result, err)
		}
	}
	for range 2 {
		result, err := s.Submit(ctx, "red", agent.Key("color"))
		if err != nil || result.Text != "the red one" {
			t.Fatalf("%+v, %v", result, err)
		}
	}
}

// Open closes the journal if it fails, and names what it cannot do.
func TestQ2_OpenFails(t *testing.T) {
	store, ctx := journal.NewMemoryStore(false), t.Context()
	s, _ := openAgain(t, store, agent.Options{Env: emptyEnv(t)}, llmtest.Text("one"))
	o := agent.Options{ID: "s", Client: &llm.Client{}, Env: emptyEnv(t)}
	if _, err := agent.Open(ctx, store, o); !errors.Is(err, journal.ErrLocked) {
		t.Errorf("a session that is open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second finds the journal closed
		if _, err := agent.Open(ctx, store, o); err == nil || errors.Is(err, journal.ErrLocked) {
			t.Errorf("options without a profile: %v", err)
		}
	}
	if _, err := agent.Open(ctx, store, agent.Options{}); err == nil || !strings.Contains(err.Error(), "Options.ID") {
		t.Errorf("no id: %v", err)
	}
	o.Journal = new(journal.Memory)
	if _, err := agent.Open(ctx, store, o); err == nil || !strings.Contains(err.Error(), "Options.Journal") {
		t.Errorf("a journal: %v", err)
	}
}
