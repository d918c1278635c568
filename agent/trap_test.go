package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// trap fails at one place of a host's code, the nth time that it is passed. Its zero value only
// records the places.
type trap struct {
	at  string
	nth int
	bad func()

	mu     sync.Mutex
	places []string
	count  map[string]int
	sprung chan struct{}
}

func (t *trap) pass(place string) {
	t.mu.Lock()
	if t.count[place]++; t.count[place] == 1 {
		t.places = append(t.places, place)
	}
	goesOff := place == t.at && t.count[place] == t.nth
	t.mu.Unlock()
	if goesOff {
		close(t.sprung)
		t.spring()
	}
}

func (t *trap) spring() { t.bad() }

func (t *trap) hasSprung() bool {
	select {
	case <-t.sprung:
		return true
	default:
		return false
	}
}

// rig is a host whose code always passes the trap.
type rig struct {
	*trap
	session  *agent.Session // set by New, before the first input
	requests []*llm.Request
	failed   bool             // the first attempt of a model call has failed
	grace    [2]time.Duration // grace times of the session and of the resumed one
	log      *journal.Memory
	memory   *envtest.Memory
	over     chan struct{} // closed to end the commands that are left

	lock   sync.Mutex
	phase  string
	events []agent.Event
}

func newRig(at string, nth int, bad func()) *rig {
	r := &rig{trap: &trap{at: at, nth: nth, bad: bad, count: map[string]int{}, sprung: make(chan struct{})},
		log: new(journal.Memory), over: make(chan struct{}), grace: [2]time.Duration{patience, patience}}
	r.memory = envtest.NewMemory(map[string]string{"file": "text", "AGENTS.md": "Be kind."})
	r.memory.Commands = func(ctx context.Context, _ env.Command) env.Exit {
		select {
		case <-ctx.Done():
		case <-r.over:
		}
		return env.Exit{}
	}
	return r
}

// options returns options in which all host code passes the trap.
func (r *rig) options(grace time.Duration) agent.Options {
	client := &llm.Client{Providers: []llm.Provider{rigProvider{r}}, Middleware: []llm.Middleware{r.middleware},
		Models: r.models}
	return agent.Options{Client: client, Env: rigEnv{r.memory, r}, Journal: rigJournal{r.log, r, ""},
		Limits: agent.Limits{Grace: grace},
		Profile: profile.Profile{Name: "test", Provider: "rig", Model: "m", Prompt: "You are being tested.",
			Tools: r.tools()},
		OnEvent: r.onEvent,
		Hooks: agent.Hooks{Authorize: func(context.Context, tool.Request) (tool.Decision, error) {
			r.pass("Authorize")
			return tool.Decision{Verdict: tool.Ask}, nil
		},
			Approve: func(context.Context, tool.Request) (tool.Decision, error) {
				r.pass("Approve")
				return tool.Decision{Verdict: tool.Allow}, nil
			},
			BeforeStop: func(context.Context, agent.Stop) (string, error) { r.pass("BeforeStop"); return "", nil },
			BeforeInput: func(_ context.Context, m agent.Message) (agent.Message,
				error) {
				r.pass("BeforeInput")
				return m, nil
			},
			BeforeCompact: func(context.Context, agent.Compacting) (string, error) {
				r.pass("BeforeCompact")
				return "",
					nil
			},
			Middleware: []tool.Middleware{func(next tool.Handler) tool.Handler {
				r.pass("the Middleware of a tool")
				return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
					r.pass("the handler of the Middleware of a tool")
					return next(ctx, c)
				}
			}}},
		Questions: &agent.Questions{Answer: func(context.Context, tool.Question) (tool.Answer, error) {
			r.pass("Questions.Answer")
			return tool.Answer{Text: "yes"}, nil
		}},
		Subagents: &agent.Subagents{Journal: func(context.Context, string) (journal.Log, error) {
			r.pass("Subagents.Journal")
			return rigJournal{new(journal.Memory), r, "child's "}, nil
		}},
		Retry: llm.RetryPolicy{Base: time.Nanosecond, Jitter: func() float64 { r.pass("Retry.Jitter"); return 0 }},
		Now:   func() time.Time { r.pass("Now"); return time.Now() },
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1},
			Result: &agent.ResultPolicy{Schema: []byte(`{"type":"object"}`)}},
		NewID: func() string { r.pass("NewID"); return "id" },
	}
}

func (r *rig) models(string, string) (llm.Model, bool) {
	r.pass("Models")
	return llm.Model{Window: 100_000, Efforts: []string{"low", "high"}}, true
}

func (r *rig) middleware(next llm.Handler) llm.Handler {
	r.pass("Middleware")
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		r.pass("the handler of Middleware")
		return next(ctx, req)
	}
}

func (r *rig) onEvent(ev agent.Event) {
	r.lock.Lock()
	r.events = append(r.events, ev)
	r.lock.Unlock()
	r.pass("OnEvent " + string(ev.Head().Kind))
}

func (r *rig) enter(phase string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.phase = phase
}

func (r *rig) in() string {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.phase
}

// warnings returns the texts of the warnings.
func (r *rig) warnings() string {
	r.lock.Lock()
	defer r.lock.Unlock()
	var texts []string
	for _, ev := range r.events {
		if w, ok := ev.(*agent.Warning); ok {
			texts = append(texts, w.Code+": "+w.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// live runs a session with every method that a host can call. It returns after the first error,
// with the session closed.
func (r *rig) live(ctx context.Context, opened chan<- *agent.Session) (err error) {
	r.enter("New")
	s, err := agent.New(ctx, r.options(r.grace[0]))
	if err != nil {
		return err
	}
	r.session = s
	opened <- s
	err = r.use(ctx, s)
	r.enter("Close")
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	r.enter("Resume")
	if s, err = agent.Resume(ctx, r.options(r.grace[1])); err != nil {
		return err
	}
	opened <- s
	r.enter("Close")
	return s.Close()
}

// use calls Steer, Submit and Compact of a session.
func (r *rig) use(ctx context.Context, s *agent.Session) error {
	r.enter("Steer")
	if err := s.Steer(context.Background(), "mind the gap"); err != nil {
		return err
	}
	r.enter("Submit")
	result, err := s.Submit(ctx, "go")
	if err == nil && result.Reason != agent.ReasonCompleted {
		err = errors.New("the input ended with " + string(result.Reason))
	}
	if err != nil {
		return err
	}
	r.enter("Compact")
	return s.Compact(ctx)
}

// rigProvider fails once, so that there is a retry, then makes one round of calls.
type rigProvider struct{ *rig }

func (p rigProvider) Name() string { p.pass("Name"); return "rig" }

func (p rigProvider) FormatsWithTools(string) bool { p.pass("FormatsWithTools"); return true }

func (p rigProvider) FixesEffort(*llm.Model) bool { p.pass("FixesEffort"); return false }

func (p rigProvider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	step, of := p.step(req)
	p.pass("Stream" + of)
	return func(yield func(llm.StreamEvent, error) bool) {
		p.pass("the iterator of Stream" + of)
		for ev, err := range step(ctx, req) {
			if ev.Response != nil {
				ev.Response.Provider = "rig"
			}
			if !yield(ev, err) {
				return
			}
			p.pass("the iterator of Stream" + of + ", after event " + fmt.Sprint(ev.Type))
		}
	}
}

// step returns the next answer, and the purpose of the request.
func (p rigProvider) step(req *llm.Request) (step llmtest.Step, of string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.requests = append(p.requests, req)
	answers := 0
	for _, m := range req.Messages {
		if m.Role == llm.RoleAssistant {
			answers++
		}
	}
	switch {
	case len(req.Tools) == 0:
		return llmtest.Text("a summary"), " of a side call"
	case strings.Contains(req.Messages[0].Parts.Text(), "You work for another agent"):
		return llmtest.Text("the child is done"), " of a child"
	case !p.failed:
		p.failed = true
		return llmtest.Torn("torn", &llm.Error{Kind: llm.ErrOverloaded}), ""
	case answers == 0:
		return llmtest.Answer(llm.Thinking{Text: "hm"}, llm.Text{Text: "I will"}, llm.ToolCall{ID: "1", Name: "work",
			Args: "{}"},
			llm.ToolCall{ID: "2", Name: "ask", Args: "{}"}, llm.ToolCall{ID: "3", Name: "spawn", Args: "{}"}), ""
	}
	return llmtest.Text("{}"), ""
}

func (r *rig) tools() []tool.Tool {
	work := newTool("work", writes, r.work)
	work.Access = func(string) (tool.Access, error) { r.pass("Access of a tool"); return writes, nil }
	return []tool.Tool{
		work,
		newTool("ask", writes, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			answer, err := c.Session.Ask(ctx, tool.Question{Text: "really?"})
			return tool.Text(answer.Text), err
		}),
		newTool("spawn", writes, func(ctx context.Context, c *tool.Call) (tool.Result, error) {
			a, err := c.Session.Agents().Spawn(ctx, tool.AgentTask{Task: "help", Dir: "."})
			if err != nil {
				return tool.Result{}, err
			}
			result, err := c.Session.Agents().Wait(ctx, a.ID)
			return tool.Text(result.Output), err
		}),
	}
}

func (r *rig) work(ctx context.Context, c *tool.Call) (tool.Result, error) {
	r.pass("Run of a tool")
	c.Live(env.Stdout, []byte("working\n"))
	r.pass("Run of a tool, after output")
	f, err := c.Env.Open(ctx, "file")
	if err != nil {
		return tool.Result{}, err
	}
	_, err = io.ReadAll(f)
	high := "high"
	err = errors.Join(err, f.Close(), c.Env.WriteFile(ctx, "other", nil, 0o600), c.Env.Remove(ctx, "other"),
		r.session.Set(context.Background(), agent.Settings{Effort: &high}))
	if err != nil {
		return tool.Result{}, err
	}
	_, err = c.Session.Processes().Start(ctx, c.Env, env.Command{Script: "serve"})
	return tool.Text("worked"), err
}

type rigEnv struct {
	env.Environment
	*rig
}

func (e rigEnv) WorkDir() string        { e.pass("env WorkDir"); return e.Environment.WorkDir() }
func (e rigEnv) Platform() env.Platform { e.pass("env Platform"); return e.Environment.Platform() }

func (e rigEnv) Confinement() env.Confinement {
	e.pass("env Confinement")
	return env.Confinement{Containment: "none"}
}

func (e rigEnv) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	e.pass("env Open")
	return e.Environment.Open(ctx, name)
}

func (e rigEnv) Stat(ctx context.Context, name string) (env.Info, error) {
	e.pass("env Stat")
	return e.Environment.Stat(ctx, name)
}

func (e rigEnv) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	e.pass("env ReadDir")
	return e.Environment.ReadDir(ctx, name)
}

func (e rigEnv) Remove(ctx context.Context, name string) error {
	e.pass("env Remove")
	return e.Environment.Remove(ctx, name)
}

func (e rigEnv) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	if cmd.Script != "serve" {
		e.pass("env Start of New")
		return nil, errors.New("there is no git here")
	}
	e.pass("env Start")
	p, err := e.Environment.Start(ctx, cmd)
	return rigProcess{p, e.rig}, err
}

type rigProcess struct {
	env.Process
	*rig
}

func (p rigProcess) Wait(ctx context.Context) (env.Exit, error) {
	p.pass("process Wait")
	return p.Process.Wait(ctx)
}

func (p rigProcess) Kill(ctx context.Context) error {
	p.pass("process Kill")
	return p.Process.Kill(ctx)
}

type rigJournal struct {
	*journal.Memory
	*rig
	of string
}

func (j rigJournal) Append(ctx context.Context, next int64, records ...journal.Record) error {
	j.pass(j.of + "journal Append")
	return j.Memory.Append(ctx, next, records...)
}

func (j rigJournal) Sync(ctx context.Context) error {
	j.pass(j.of + "journal Sync")
	return j.Memory.Sync(ctx)
}

func (j rigJournal) Len() int64 { j.pass(j.of + "journal Len"); return j.Memory.Len() }

func (j rigJournal) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	j.pass(j.of + "journal Records")
	return func(yield func(journal.Record, error) bool) {
		for r, err := range j.Memory.Records(ctx, from) {
			j.pass(j.of + "journal Records, inside")
			if !yield(r, err) {
				return
			}
		}
	}
}

func (j rigJournal) Close() error {
	j.pass(j.of + "journal Close")
	return nil // the journal is opened again
}
