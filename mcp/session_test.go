//go:build unix

package mcp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// joined is a session that is told when its tools have changed.
type joined struct {
	*agent.Session
	changed chan struct{}
}

func (j *joined) ReplaceTools(ctx context.Context, names []string, tools ...tool.Tool) error {
	err := j.Session.ReplaceTools(ctx, names, tools...)
	j.changed <- struct{}{}
	return err
}

// seat is a session with a scripted model.
type seat struct {
	*joined
	model *llmtest.Provider

	mu     sync.Mutex
	events []agent.Event
}

// sit starts a session with servers. At the end of the test it is closed, and its journal must
// replay.
func sit(t *testing.T, s *Servers, questions *agent.Questions, steps ...llmtest.Step) *seat {
	t.Helper()
	store := journal.NewDir(t.TempDir())
	log, err := store.Create(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	h := &seat{model: llmtest.NewProvider("test", steps...)}
	session, err := agent.New(t.Context(),
		agent.Options{ID: "s", Client: &llm.Client{Providers: []llm.Provider{h.model}},
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: s.Tools()},
			Env:     local(t), System: "You are a test.", Journal: log, Questions: questions,
			OnEvent: func(ev agent.Event) {
				h.mu.Lock()
				defer h.mu.Unlock()
				h.events = append(h.events, ev)
			}})
	if err != nil {
		t.Fatal(err)
	}
	h.joined = &joined{Session: session, changed: make(chan struct{}, 100)}
	leave := s.Join(h.joined)
	t.Cleanup(func() {
		leave()
		err := session.Close()
		log, readErr := store.Read(context.Background(), "s")
		if err = errors.Join(err, readErr); err == nil {
			err = errors.Join(agent.Replay(context.Background(), log, agent.ReplayOptions{}), log.Close())
		}
		if err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *seat) submit(t *testing.T, task string) {
	t.Helper()
	result, err := h.Submit(t.Context(), task)
	if err != nil || result.Reason != agent.ReasonCompleted {
		t.Fatalf("Submit = %+v, %v", result, err)
	}
}

// prefixes returns the tools of each request as a number that changes with them.
func (h *seat) prefixes() (numbers []int) {
	last, n := "", 0
	for _, r := range h.model.Requests() {
		tools := ""
		for _, def := range r.Tools {
			tools += def.Name + "\x00" + def.Description + "\x00" + string(def.Parameters) + "\x01"
		}
		if tools != last {
			last = tools
			n++
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// offers returns the tools of a server in a request.
func (h *seat) offers(request int, server string) string {
	var names []string
	for _, def := range h.model.Requests()[request].Tools {
		if name, ok := strings.CutPrefix(def.Name, "mcp__"+server+"__"); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// ends returns the ends of the calls so far.
func (h *seat) ends() (ends []*agent.ToolCallEnd) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ev := range h.events {
		if end, ok := ev.(*agent.ToolCallEnd); ok {
			ends = append(ends, end)
		}
	}
	return ends
}

// outputs returns the texts of the results so far.
func (h *seat) outputs() (texts []string) {
	for _, end := range h.ends() {
		texts = append(texts, end.Output)
	}
	return texts
}

// In a session, results have structure and media, and the person of the session answers the
// questions of servers.
func TestM1_Session(t *testing.T) {
	for program := range map[string]bool{"lab": true, "legacy": true} {
		t.Run(program, func(t *testing.T) {
			var asked []tool.Question
			s := ready(t, Options{Servers: []Server{as(t, "lab", program)}, Answers: true})
			book := llmtest.Calls(llmtest.Call("mcp__lab__book", nil))
			h := sit(t, s, &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer, error) {
				asked = append(asked, q)
				return tool.Answer{Text: `{"day":"Monday"}`}, nil
			}}, llmtest.Calls(llmtest.Call("mcp__lab__measure", nil)), book, llmtest.Text("done"))
			h.submit(t, "measure and book")
			ends := h.ends()
			if m := ends[0]; string(m.Structured) != `{"degrees":42}` || len(m.Media) != 1 ||
				m.Media[0].MIME != "image/png" || !strings.HasPrefix(m.Output, "42 degrees") {
				t.Errorf("the measurement is %+v", m)
			}
			if len(asked) != 1 || asked[0].Source != "MCP server lab" || asked[0].Form == nil ||
				asked[0].CallID != ends[1].CallID || ends[1].Output != "accept Monday" {
				t.Errorf("asked %+v; the result is %q", asked, ends[1].Output)
			}
			alone := sit(t, s, nil, book, llmtest.Text("done"))
			alone.submit(t, "book")
			if out := alone.outputs(); out[0] != "decline <nil>" {
				t.Errorf("with nobody there the result is %q", out)
			}
		})
	}
}

// Servers that come late together, a list that changes during a call, and a death: one other prefix
// for each batch, and none for the death.
func TestM2_PrefixOfASession(t *testing.T) {
	t.Parallel()
	gates := []string{filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")}
	late := []Server{as(t, "one", "late"), as(t, "two", "late"), as(t, "lab", "lab")}
	for i, gate := range gates {
		if err := syscall.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
		late[i].Env["GATE"], late[i].Required = gate, false
	}
	s := ready(t, Options{Servers: late})
	h := sit(t, s, nil, llmtest.Text("hello"), llmtest.Text("again"),
		llmtest.Calls(llmtest.Call("mcp__two__look", nil)), llmtest.Calls(llmtest.Call("mcp__two__calibrate", nil)),
		llmtest.Calls(llmtest.Call("mcp__two__weigh", nil)),
		llmtest.Calls(llmtest.Call("mcp__two__die", nil)), llmtest.Calls(llmtest.Call("mcp__two__measure", nil)),
		llmtest.Text("done"), llmtest.Text("really"))
	h.submit(t, "hello")
	h.submit(t, "still there?")
	open(t, gates, s)
	has := func(name string) bool {
		return slices.ContainsFunc(h.Tools(), func(o tool.Tool) bool { return o.Name == name })
	}
	for !has("mcp__one__look") || !has("mcp__two__look") {
		<-h.changed
	}
	h.submit(t, "measure")
	if got := h.prefixes(); len(got) != 8 || got[0] != got[1] || got[2] != got[1]+1 || got[3] != got[2] ||
		got[4] != got[3]+1 || got[5] != got[4] || got[6] != got[4] {
		t.Errorf("the prefixes are %v", got)
	}
	if first, third, fifth := h.offers(0, "two"), h.offers(2, "two"), h.offers(4, "two"); first != "" ||
		!strings.Contains(third, "measure") ||
		strings.Contains(third, "weigh") || !strings.Contains(fifth, "weigh") || strings.Contains(fifth, "measure") {
		t.Errorf("offered %q, %q, %q", first, third, fifth)
	}
	if h.offers(2, "one") == "" {
		t.Error("the other late server is not in the batch")
	}
	if out := h.outputs(); out[2] != "1 kg" || !strings.Contains(out[3], "exit code 7") ||
		!strings.Contains(out[4], "was removed") && !strings.Contains(out[4], "no tool") {
		t.Errorf("the results are %q", out)
	}
}

// open lets servers start that wait at named pipes, and waits until they have.
func open(t *testing.T, gates []string, s *Servers) {
	t.Helper()
	for _, gate := range gates {
		w, err := os.OpenFile(gate, os.O_WRONLY, 0)
		if err = errors.Join(err, w.Close(), os.Remove(gate)); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range s.list {
		select {
		case <-one.first:
		case <-t.Context().Done():
			t.Fatal("the servers do not start")
		}
	}
}

// A resumed session, or a second one, gets the tools without a new prefix if it had them.
func TestM2_JoinChangesNothing(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	h := sit(t, s, nil, llmtest.Text("one"), llmtest.Text("two"))
	h.submit(t, "one")
	<-h.changed
	h.submit(t, "two")
	if got := h.prefixes(); got[0] != got[1] {
		t.Errorf("the prefixes are %v", got)
	}
}

// Servers end with their environment, if they were not closed before.
func TestM1_ServersDieWithTheirEnvironment(t *testing.T) {
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Env: func(Server) (env.Environment, error) {
		return e,
			nil
	}, Warn: func(string, error) {}})
	c, err := s.list[0].connected(t.Context())
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	c.stdio.Wait(t.Context())
	<-c.ended
	if !c.stdio.exited() || c.alive() {
		t.Errorf("the connection ended with %v", c.stdio.Reason())
	}
}

// A server that changes its list with every call costs a bounded number of prefixes. Then its tools
// stay, and people are told once.
func TestM2_RestlessServer(t *testing.T) {
	t.Parallel()
	w := new(warnings)
	s := ready(t, Options{Servers: []Server{as(t, "wild", "restless")}, Warn: w.add})
	var steps []llmtest.Step
	for range maxReplaced + 5 {
		steps = append(steps, llmtest.Calls(llmtest.Call("mcp__wild__grow", nil)))
	}
	h := sit(t, s, nil, append(steps, llmtest.Text("done"))...)
	h.submit(t, "grow")
	got := h.prefixes()
	if first, last := got[0], got[len(got)-1]; last-first != maxReplaced || len(s.Tools()) != 2+maxReplaced {
		t.Errorf("there are %d prefixes and %d tools", last-first, len(s.Tools()))
	}
	if strings.Count(w.all(), "has changed its tools more than 20 times") != 1 {
		t.Errorf("the warnings are %s", w.all())
	}
	for _, out := range h.outputs() {
		if out != "ok" {
			t.Errorf("a call returned %q", out)
		}
	}
}

// A tool of a trusted server that only reads from now on runs so, and the prefix stays. A change of
// what is said about reading is told.
func TestM12_ChangedHint(t *testing.T) {
	t.Parallel()
	w, one := new(warnings), as(t, "wild", "restless")
	one.Trusted = true
	s := ready(t, Options{Servers: []Server{one}, Warn: w.add, Pins: &pins{keep: map[string]map[string]string{}}})
	h := sit(t, s, nil, llmtest.Calls(llmtest.Call("mcp__wild__turn", nil)), llmtest.Text("done"),
		llmtest.Calls(llmtest.Call("mcp__wild__turn", nil)), llmtest.Text("done"))
	reads := func() bool {
		for _, one := range h.Tools() {
			if one.Name == "mcp__wild__turn" {
				access, err := one.Access("{}")
				return err == nil && access.Effect == tool.ReadOnly
			}
		}
		return false
	}
	for _, want := range []bool{true, false} {
		if h.submit(t, "turn"); reads() != want {
			t.Errorf("the tool reads: %v", reads())
		}
	}
	if got := h.prefixes(); got[0] != got[3] {
		t.Errorf("the prefixes are %v", got)
	}
	if strings.Count(w.all(), "otherwise than before: mcp__wild__turn") != 2 {
		t.Errorf("the warnings are %s", w.all())
	}
}

// A session gets the tools of a server that wanted a login when its user has logged in, in another
// process.
func TestM3_LoginDuringASession(t *testing.T) {
	t.Parallel()
	p, tokens, w := startProtected(t), newTokens(t), new(warnings)
	s := start(t, Options{Servers: []Server{p.server()}, Tokens: tokens, Warn: w.add})
	<-s.list[0].first
	if len(s.Tools()) != 0 || s.Status()[0].State != Failed ||
		!strings.Contains(w.all(), "run attractor mcp login work") {
		t.Fatalf("without a login: %+v, %s", s.Status()[0], w.all())
	}
	h := sit(t, s, nil, llmtest.Calls(llmtest.Call("mcp__work__whoami", nil)), llmtest.Text("done"))
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	<-h.changed
	h.submit(t, "who am I?")
	if got := h.outputs(); got[0] != "the user" || s.Status()[0].State != Connected {
		t.Errorf("the call returned %q; the server is %s", got[0], s.Status()[0].State)
	}
}

// The tools for resources count for the budget as those of servers do, and are found and called in
// the same way.
func TestM4_DeferredResources(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Budget: 1})
	h := sit(t, s, nil, llmtest.Calls(llmtest.Call(SearchTool, map[string]any{"query": "read a resource"})),
		llmtest.Calls(llmtest.Call(CallTool, map[string]any{"name": ReadResource,
			"arguments": map[string]any{"server": "lab", "uri": "lab://log"}})), llmtest.Text("done"))
	h.submit(t, "read")
	for _, def := range h.model.Requests()[0].Tools {
		if (def.Name == ReadResource || def.Name == ListResources) && !def.Deferred {
			t.Errorf("%s is offered", def.Name)
		}
	}
	if out := h.outputs(); !strings.Contains(out[0], ReadResource+"\n") || !strings.Contains(out[1], "all is well") {
		t.Errorf("the results are %q", out)
	}
}
