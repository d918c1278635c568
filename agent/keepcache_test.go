package agent_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// renewer is a provider whose cache the session may keep. It counts the streams that are open at
// the same time, and a renewal takes as long as is said.
type renewer struct {
	testNamed
	takes      time.Duration
	open, most *atomic.Int32
}

func (r renewer) RenewsCache(req *llm.Request) bool {
	return r.Provider.(llm.CacheRenewer).RenewsCache(req)
}

func (r renewer) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		now := r.open.Add(1)
		r.most.Store(max(now, r.most.Load()))
		defer r.open.Add(-1)
		if req.Caller.Purpose == agent.PurposeRenewal {
			select {
			case <-time.After(r.takes):
			case <-ctx.Done():
				yield(llm.StreamEvent{}, llm.Errorf(llm.ErrAborted, "the answer never came"))
				return
			}
		}
		for ev, err := range r.Provider.Stream(ctx, req) {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// waiting is a session against a server whose cache forgets as Anthropic's does. Its model calls a
// tool and then ends.
type waiting struct {
	call   string // the tool: work, which takes some time, or ask_user
	wait   time.Duration
	policy agent.Policy
	later  bool // the next input answers questions
	plain  bool // the provider does not say that its cache can be kept
	takes  time.Duration
	faults map[int]fakellm.Fault

	*host
	server *fakellm.Server
	log    *journal.Memory
	most   atomic.Int32
}

const longTask = 60_000 // characters

func (w *waiting) begin(t *testing.T) {
	args := json.RawMessage(`{}`)
	if w.call == "ask_user" {
		args = json.RawMessage(`{"question":"really?"}`)
	}
	w.server = fakellm.New(fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{{ID: "call", Name: w.call, Args: args}}},
		fakellm.Turn{Text: "done"}), fakellm.Options{Faults: w.faults})
	facts, _ := catalog.New().Get("anthropic", "claude-sonnet-5-5")
	w.log = new(journal.Memory)
	work := newTool("work", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		time.Sleep(w.wait)
		return tool.Text("worked"), nil
	})
	questions := &agent.Questions{Answer: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		select {
		case <-time.After(w.wait):
		case <-ctx.Done():
		}
		return tool.Answer{Text: "yes"}, ctx.Err()
	}}
	if w.later {
		questions.Answer = nil
	}
	w.host = open(t, setup{tools: []tool.Tool{work, coding.AskUser()},
		models:  func(string, string) (llm.Model, bool) { return facts, true },
		options: agent.Options{Journal: w.log, Policy: w.policy, Questions: questions},
		wrap: func(llm.Provider) llm.Provider {
			wire := testNamed{newWire(t, "anthropic", w.server)}
			if w.plain {
				return wire
			}
			return renewer{wire, w.takes, new(atomic.Int32), &w.most}
		}})
}

// run runs the session to its end.
func (w *waiting) run(t *testing.T, reason agent.Reason) {
	t.Helper()
	w.begin(t)
	first := reason
	if w.later {
		first = agent.ReasonAwaitingInput
	}
	w.submit(t, strings.Repeat("The task is long. ", longTask/18), first)
	if w.later {
		time.Sleep(w.wait)
		w.submit(t, "yes", reason)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := agent.Replay(t.Context(), w.log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// renewals returns the requests that asked for one token.
func (w *waiting) renewals() []*fakellm.Request {
	return slices.DeleteFunc(slices.Clone(w.server.Requests()),
		func(r *fakellm.Request) bool { return r.MaxTokens != 1 })
}

// records counts the records of renewals.
func (w *waiting) records(t *testing.T) (n int) {
	t.Helper()
	for line, err := range w.log.Records(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if line.Kind == "renewal" {
			n++
		}
	}
	return n
}

var keeping = agent.Policy{KeepCache: true}

// While a command runs or a question waits for twenty minutes, the cache is renewed four times, so
// that the next round finds it warm. The requests are the last one again, and change nothing.
func TestV5_KeepCache(t *testing.T) {
	for name, w := range map[string]*waiting{"a command": {call: "work"}, "a question": {call: "ask_user"},
		"a question between two inputs": {call: "ask_user", later: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w.wait, w.policy = 20*time.Minute, keeping
				w.run(t, agent.ReasonCompleted)
				renewals, requests := w.renewals(), w.server.Requests()
				if len(renewals) != 4 || w.records(t) != 4 {
					t.Fatalf("%d renewals, %d in the journal, want 4", len(renewals), w.records(t))
				}
				first, last := requests[0], requests[len(requests)-1]
				for _, r := range renewals {
					if !slices.Equal(r.Body, withMaxTokens(t, first.Body, r.Body)) {
						t.Errorf("a renewal differs from the first request in more than max_tokens")
					}
				}
				if diff := cmp.Diff(first.Messages, last.Messages[:len(first.Messages)]); diff != "" ||
					len(last.Messages) !=
						len(first.Messages)+2 {
					t.Errorf("the conversation has changed: %s", diff)
				}
				for _, end := range only[*agent.StepEnd](w.host) {
					if end.Cold != nil {
						t.Errorf("a round was cold: %s", end.Cold)
					}
				}
				if used, sum := w.Usage(), sumOf(w); used != sum {
					t.Errorf("the session has used %+v, the server says %+v", used, sum)
				}
			})
		})
	}
}

// withMaxTokens returns a body with the max_tokens of another.
func withMaxTokens(t *testing.T, body, other []byte) []byte {
	t.Helper()
	value := func(b []byte) string {
		_, rest, _ := strings.Cut(string(b), `"max_tokens":`)
		n, _, ok := strings.Cut(rest, ",")
		if !ok {
			t.Fatalf("no max_tokens in %.200s", b)
		}
		return `"max_tokens":` + n + `,`
	}
	return []byte(strings.Replace(string(body), value(body), value(other), 1))
}

// sumOf returns what the requests of the session have used by its events and records.
func sumOf(w *waiting) (sum llm.Usage) {
	for _, end := range only[*agent.StepEnd](w.host) {
		sum = sum.Add(end.Usage)
	}
	for line := range w.log.Records(context.Background(), 1) {
		var r struct {
			Usage llm.Usage `json:"usage"`
		}
		if line.Kind == "renewal" && json.Unmarshal(line.Data, &r) == nil {
			sum = sum.Add(r.Usage)
		}
	}
	return sum
}

// The renewals of one wait together cost less than writing the prompt anew.
func TestV5_KeepCacheCostsLessThanACold(t *testing.T) {
	for _, lifetime := range []agent.CacheLifetime{agent.CacheShort, agent.CacheLong} {
		t.Run(string(lifetime), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &waiting{call: "work", wait: 48 * time.Hour,
					policy: agent.Policy{KeepCache: true, CacheLifetime: lifetime}}
				w.run(t, agent.ReasonCompleted)
				facts, _ := catalog.New().Get("anthropic", "claude-sonnet-5-5")
				prefix, usd := llm.Usage{}, 0.0
				for line := range w.log.Records(t.Context(), 1) {
					var r struct {
						Usage llm.Usage `json:"usage"`
						Cost  float64   `json:"cost_usd"`
					}
					if err := json.Unmarshal(line.Data, &r); err != nil {
						t.Fatal(err)
					}
					if line.Kind == "answer" && prefix == (llm.Usage{}) {
						prefix = r.Usage
						prefix.Output = 0
					}
					if line.Kind == "renewal" {
						usd += r.Cost
					}
				}
				cold, _ := facts.Cost(prefix)
				if n := w.records(t); n < 5 || usd >= cold || usd*float64(n+1)/float64(n) < cold {
					t.Errorf("%d renewals cost $%v, writing the prompt $%v", n, usd, cold)
				}
			})
		})
	}
}

// Nothing is renewed unless the policy says so, the budget has it and the provider's cache works
// that way. What a renewal may take is reserved.
func TestV5_KeepCacheNot(t *testing.T) {
	small := agent.Policy{KeepCache: true, Budget: agent.Budget{Tokens: 25_000}}
	for name, w := range map[string]*waiting{"off": {}, "no budget": {policy: small},
		"another cache": {policy: keeping, plain: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w.call, w.wait = "work", 20*time.Minute
				reason := agent.ReasonCompleted
				if w.policy.Budget.Tokens > 0 {
					reason = agent.ReasonBudgetTokens
				}
				w.run(t, reason)
				if n := len(w.renewals()); n != 0 || w.records(t) != 0 {
					t.Errorf("%d renewals", n)
				}
			})
		})
	}
}

// A renewal that fails is the last one of its wait. It says nothing to the host.
func TestV5_KeepCacheFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{call: "work", wait: 20 * time.Minute, policy: keeping}
		w.faults = map[int]fakellm.Fault{3: {Kind: fakellm.FaultStatus, Status: http.StatusServiceUnavailable}}
		w.run(t, agent.ReasonCompleted)
		if n := len(w.renewals()); n != 2 || w.records(t) != 1 || w.warned() != "" ||
			len(only[*agent.LLMRetry](w.host)) != 0 {
			t.Errorf("%d requests, %d records, warnings %q", n, w.records(t), w.warned())
		}
	})
}

// A renewal that is under way when the wait ends is given up before the next request is sent, and
// counts as far as it may be billed.
func TestV5_KeepCacheOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &waiting{call: "work", wait: 5 * time.Minute, policy: keeping, takes: time.Hour}
		w.run(t, agent.ReasonCompleted)
		if w.most.Load() != 1 || w.records(t) != 1 {
			t.Errorf("%d requests at once, %d records", w.most.Load(), w.records(t))
		}
		if used, sum := w.Usage(), sumOf(w); used != sum {
			t.Errorf("the session has used %+v, its requests %+v", used, sum)
		}
	})
}

// Renewals end with the session, also while a question waits between two inputs. One that is under
// way is in the journal before the session's end.
func TestV5_KeepCacheEnds(t *testing.T) {
	for _, later := range []bool{false, true} {
		for _, takes := range []time.Duration{0, time.Hour} {
			synctest.Test(t, func(t *testing.T) {
				w := &waiting{call: "ask_user", wait: time.Hour, policy: keeping, later: later, takes: takes}
				w.begin(t)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					_, _ = w.Submit(context.Background(), strings.Repeat("The task is long. ", longTask/18))
				}()
				time.Sleep(7 * time.Minute)
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				<-ended
				records := w.records(t)
				time.Sleep(2 * time.Hour)
				if n := len(w.renewals()); n > 1 || records != 1 || w.records(t) != 1 {
					t.Errorf("later %v, takes %v: %d requests, %d records", later, takes, n, records)
				}
			})
		}
	}
}
