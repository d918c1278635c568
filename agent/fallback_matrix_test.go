package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// matrixVendor is a provider of the matrix, with its chosen model and its fallback model.
type matrixVendor struct {
	name, chosen, fallback, version string
	pieces                          int // of the arguments of a call in the script
	quota, overloaded               fakellm.Fault
}

func matrixVendors() []matrixVendor {
	status := func(status int, code string) fakellm.Fault {
		return fakellm.Fault{Kind: fakellm.FaultStatus, Status: status, Error: code}
	}
	return []matrixVendor{
		{"anthropic", "claude-opus-5-5", "claude-sonnet-5-5", "", 3, status(402, "billing_error"),
			status(529, "overloaded_error")},
		{"openai", "gpt-5.2", "gpt-5.5", "/v1", 3, status(429, "insufficient_quota"), status(503, "")},
		{"gemini", "gemini-3.1-pro-preview", "gemini-3.5-flash", "", 1, status(402, ""), status(503, "UNAVAILABLE")},
		{"openai-compatible", "one-model", "other-model", "/v1", 3, status(429, "insufficient_quota"), status(503, "")},
	}
}

// matrixScript has reasoning, text and two calls in each answer except the last, which has no
// calls. Each text has two deltas.
var matrixScript = []fakellm.Turn{
	{Thinking: "I have to begin with something.", Text: "I will begin with two.",
		Calls: []fakellm.Call{countCall("aa"), countCall("ab")}},
	{Thinking: "I have to go on now.", Text: "I will do two more.",
		Calls: []fakellm.Call{countCall("ba"), countCall("bb")}},
	{Thinking: "I have to come to an end.", Text: "All of it is done."},
}

// countCall returns a call whose arguments have three pieces of 16 bytes.
func countCall(name string) fakellm.Call { return useTool("count", "the-long-name-of-a-file-"+name) }

// matrixPoint is a point at which the chosen model finally fails.
type matrixPoint struct {
	name    string
	answers int // before the failure
	kinds   []error
	fault   func(v matrixVendor) fakellm.Fault // nil for a refused connection
	billed  bool
}

// matrixPoints returns all points of the matrix.
func matrixPoints() []matrixPoint {
	broken := []error{llm.ErrStream, llm.ErrNetwork}
	after := func(texts, calls int) func(v matrixVendor) fakellm.Fault {
		return func(v matrixVendor) fakellm.Fault {
			return fakellm.Fault{Kind: fakellm.FaultCut, After: texts + calls*v.pieces}
		}
	}
	always := func(f fakellm.Fault) func(v matrixVendor) fakellm.Fault {
		return func(matrixVendor) fakellm.Fault { return f }
	}
	return []matrixPoint{
		{"connection refused", 1, []error{llm.ErrNetwork}, nil, false},
		{"rate limit with a long Retry-After", 1, []error{llm.ErrRateLimit},
			always(fakellm.Fault{Kind: fakellm.FaultStatus, Status: 429,
				Header: map[string]string{"Retry-After": "3600"}}), false},
		{"quota", 1, []error{llm.ErrQuota}, func(v matrixVendor) fakellm.Fault { return v.quota }, false},
		{"server error", 1, []error{llm.ErrServer}, always(fakellm.Fault{Kind: fakellm.FaultStatus, Status: 500}),
			false},
		{"overloaded on the first call", 0, []error{llm.ErrOverloaded, llm.ErrServer},
			func(v matrixVendor) fakellm.Fault { return v.overloaded }, false},
		{"after the headers", 1, broken, after(0, 0), true},
		{"in reasoning", 1, broken, after(1, 0), true},
		{"in text", 1, broken, after(3, 0), true},
		{"in the arguments of a call", 1, broken, func(v matrixVendor) fakellm.Fault {
			return fakellm.Fault{Kind: fakellm.FaultCut, After: 4 + v.pieces/2}
		}, true},
		{"between two calls", 1, broken, after(4, 1), true},
		{"after the calls", 1, broken, after(4, 2), true},
		{"in the last text", 2, broken, after(3, 0), true},
	}
}

// matrixCase combines a point of the matrix with two vendors.
type matrixCase struct {
	matrixPoint
	chosen, fallback matrixVendor
	local            *env.Local
}

// matrixWorld holds a session whose chosen model fails, and what outlives it.
type matrixWorld struct {
	*agent.Session
	matrixCase
	servers [2]*fakellm.Server // for the chosen model and for the fallback
	dir     string
	log     *journal.Memory
	ledger  *testLedger
	events  []agent.Event
	claims  []agent.Claim
}

// byModel sends requests for the chosen model to one server and all others to another.
func (w *matrixWorld) byModel(r *http.Request) (server *fakellm.Server, chosen bool, err error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`"`+w.chosen.chosen+`"`)) || strings.Contains(r.URL.Path, w.chosen.chosen+":") {
		return w.servers[0], true, err
	}
	return w.servers[1], false, err
}

func (w *matrixWorld) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	server, _, err := w.byModel(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	server.ServeHTTP(rw, r)
}

// refusing is a transport that refuses the chosen model's connections after some requests.
type refusing struct {
	http.RoundTripper
	world  *matrixWorld
	closed *http.Transport
	after  int32
	sent   atomic.Int32
}

func (f *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	_, chosen, err := f.world.byModel(r)
	if err != nil {
		return nil, err
	}
	if !chosen || f.sent.Add(1) <= f.after {
		return f.RoundTripper.RoundTrip(r)
	}
	return f.closed.RoundTrip(r)
}

// closedPort returns a transport that connects to a port on which nobody listens.
func closedPort(t *testing.T) *http.Transport {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, l.Addr().String())
	}}
}

// world opens a session on a journal, or resumes the session in it.
func (c matrixCase) world(t *testing.T, log *journal.Memory) *matrixWorld {
	t.Helper()
	w := &matrixWorld{matrixCase: c, dir: t.TempDir(), log: log, ledger: new(testLedger)}
	good := c.answers // requests before the fault
	if log.Len() > 0 {
		state, err := agent.Load(context.Background(), log)
		if err != nil {
			t.Fatal(err)
		}
		good = max(good-state.Steps, 0)
	}
	faults := map[int]fakellm.Fault{}
	for n := good + 1; c.fault != nil && n <= good+2; n++ {
		faults[n] = c.fault(c.chosen)
	}
	w.servers = [2]*fakellm.Server{fakellm.New(fakellm.Script(matrixScript...), fakellm.Options{Faults: faults}),
		fakellm.New(fakellm.Script(matrixScript...), fakellm.Options{})}
	client := llmtest.PipeClient(t, w)
	if c.fault == nil {
		client.Transport = &refusing{RoundTripper: client.Transport, world: w, closed: closedPort(t),
			after: int32(good)}
	}
	var all []llm.Provider
	for _, v := range slices.CompactFunc([]matrixVendor{c.chosen, c.fallback},
		func(a, b matrixVendor) bool { return a.name == b.name }) {
		kind, err := providers.Find(v.name)
		if err != nil {
			t.Fatal(err)
		}
		provider, err := kind.New(providers.Config{APIKey: "key", BaseURL: "http://x.test" + v.version,
			HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, provider)
	}
	w.open(t, &llm.Client{Providers: all, Models: catalog.New().Get})
	return w
}

// open starts the session, or resumes it if the journal has records.
func (w *matrixWorld) open(t *testing.T, client *llm.Client) {
	t.Helper()
	w.ledger.reserve = func(_ context.Context, c agent.Claim) (int, error) {
		w.claims = append(w.claims, c)
		return c.Output, nil
	}
	o := agent.Options{ID: "session", Client: client, Env: inDir{w.local, "/work"}, System: "You are being tested.",
		Journal: w.log, Ledger: w.ledger,
		Profile: profile.Profile{Name: "test", Provider: w.chosen.name, Model: w.chosen.chosen,
			Tools: []tool.Tool{newTool("count", writes, w.count)}},
		Effort: "high", Retry: llm.RetryPolicy{Max: 1, Base: time.Nanosecond},
		OnEvent: func(ev agent.Event) { w.events = append(w.events, ev) }}
	o.Fallbacks.Models = []agent.FallbackModel{{Provider: w.fallback.name, Model: w.fallback.fallback}}
	var err error
	if w.log.Len() > 0 {
		w.Session, err = agent.Resume(context.Background(), o)
	} else {
		w.Session, err = agent.New(context.Background(), o)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// count records that a call ran.
func (w *matrixWorld) count(_ context.Context, c *tool.Call) (tool.Result, error) {
	f, err := os.OpenFile(filepath.Join(w.dir, "counts"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, c.ID)
		err = errors.Join(err, f.Close())
	}
	return tool.Text("counted " + c.Args), err
}

// ran returns the calls that ran, once for each run.
func (w *matrixWorld) ran(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "counts"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	ids := strings.Fields(string(data))
	slices.Sort(ids)
	return ids
}

// canonical returns the texts, calls and results of messages in a form that does not depend on the
// provider.
func canonical(messages []llm.Message) (said []string) {
	for _, m := range messages {
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.Text:
				if m.Role != llm.RoleSystem && p.Text != "" {
					said = append(said, p.Text)
				}
			case llm.ToolCall:
				said = append(said, "call "+p.ID+" "+p.Name+" "+compacted(p.Args))
			case llm.ToolResult:
				said = append(said, "result "+p.CallID+" "+p.Content.Text())
			}
		}
	}
	return said
}

func compacted(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

func historyOf(s *agent.Session) (messages []llm.Message) {
	for _, turn := range s.History() {
		messages = append(messages, turn.Message)
	}
	return messages
}

// matrixSaid returns the final history in canonical form.
func matrixSaid() []string {
	said := []string{"do it"}
	for i, turn := range matrixScript {
		said = append(said, turn.Text)
		for j, c := range turn.Calls {
			said = append(said, fmt.Sprintf("call call_%d_%d count %s", i, j, c.Args))
		}
		for j, c := range turn.Calls {
			said = append(said, fmt.Sprintf("result call_%d_%d counted %s", i, j, c.Args))
		}
	}
	return said
}

var matrixCalls = []string{"call_0_0", "call_0_1", "call_1_0", "call_1_1"}

// Each provider takes over from each other, wherever that fails. The history is intact, no call
// runs twice, every attempt is billed, the replay is the same, and so is the end in a process that
// continues wherever the first was cut off.
func TestJ13_Matrix(t *testing.T) {
	t.Parallel()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i, chosen := range matrixVendors() {
		for j, fallback := range matrixVendors() {
			t.Run(chosen.name+" to "+fallback.name, func(t *testing.T) {
				for k, p := range matrixPoints() {
					t.Run(p.name, func(t *testing.T) {
						c, log := matrixCase{p, chosen, fallback, local}, new(journal.Memory)
						c.run(t, log)
						if (i*len(matrixVendors())+j)%len(matrixPoints()) == k { // each point with one or two pairs
							c.resume(t, all(t, log))
						}
					})
				}
			})
		}
	}
}

// run runs the case on a journal and checks its outcome.
func (c matrixCase) run(t *testing.T, log *journal.Memory) {
	w := c.world(t, log)
	result, err := w.Submit(context.Background(), "do it")
	if err != nil || result.Reason != agent.ReasonCompleted {
		t.Fatalf("%+v, %v", result, err)
	}
	if diff := gocmp.Diff(matrixSaid(), canonical(historyOf(w.Session))); diff != "" {
		t.Errorf("the history (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(matrixCalls, w.ran(t)); diff != "" {
		t.Errorf("calls (-want +ran):\n%s", diff)
	}
	w.checkChange(t)
	w.checkSent(t)
	w.checkBill(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkEvents(t, w.events)
	checkReplay(t, log, w.events)
}

// checkChange checks that the model changed exactly once, at the right place and for the right
// reason.
func (w *matrixWorld) checkChange(t *testing.T) {
	t.Helper()
	h := &host{events: w.events}
	changed := only[*agent.ModelChanged](h)
	if len(changed) != 1 {
		t.Fatalf("%d changes", len(changed))
	}
	e := changed[0]
	from, to := agent.ModelName{Provider: w.chosen.name, Model: w.chosen.chosen},
		agent.ModelName{Provider: w.fallback.name, Model: w.fallback.fallback}
	if e.From != from || e.To != to || e.Reason != agent.ModelFailed || !e.UntilInput ||
		!slices.Contains(w.kinds, llm.KindNamed(e.ErrorKind)) {
		t.Errorf("%+v, want one of %v", e, w.kinds)
	}
	var by []string
	for _, turn := range w.History() {
		if turn.Kind == agent.TurnAssistant {
			by = append(by, turn.Message.Model)
		}
	}
	want := slices.Concat(slices.Repeat([]string{from.Model}, w.answers),
		slices.Repeat([]string{to.Model}, len(matrixScript)-w.answers))
	if !slices.Equal(by, want) {
		t.Errorf("answers of %v, want %v", by, want)
	}
}

// checkSent checks that the fallback got the whole history, and that the failed attempts sent the
// same request.
func (w *matrixWorld) checkSent(t *testing.T) {
	t.Helper()
	history := canonical(historyOf(w.Session))
	for _, server := range w.servers {
		for _, r := range server.Requests() {
			sent := canonical(r.Messages)
			if len(sent) > len(history) || !slices.Equal(sent, history[:len(sent)]) {
				t.Errorf("request %d of %s has other messages (-history +sent):\n%s", r.N, r.Model,
					gocmp.Diff(history, sent))
			}
		}
	}
	if got, want := len(w.servers[1].Requests()), len(matrixScript)-w.answers; got != want {
		t.Errorf("the fallback had %d requests, want %d", got, want)
	}
}

// checkBill checks that each attempt was reserved at the price of its model, and that its usage is
// in its record, in the ledger and in the sums.
func (w *matrixWorld) checkBill(t *testing.T) {
	t.Helper()
	w.ledger.check(t)
	known := catalog.New()
	var usage llm.Usage
	var cost float64
	attempts := 0
	for _, line := range all(t, w.log) {
		if line.Kind != "answer" && line.Kind != "fault" {
			continue
		}
		var rec struct {
			Usage llm.Usage `json:"usage"`
			Cost  float64   `json:"cost_usd"`
		}
		if err := json.Unmarshal(line.Data, &rec); err != nil {
			t.Fatal(err)
		}
		if billed := rec.Usage.Input > 0; billed != (line.Kind == "answer" || w.billed) {
			t.Errorf("a %s took %+v: %s", line.Kind, rec.Usage, line.Data)
		}
		claim := w.claims[attempts]
		model, _ := known.Get(claim.Provider, claim.Model)
		if want, _ := (&model).Cost(rec.Usage); rec.Cost != want || claim.InputUSD > 0 != (len(model.Prices) > 0) {
			t.Errorf("a %s of %s cost %v, want %v; claim %+v", line.Kind, claim.Model, rec.Cost, want, claim)
		}
		usage, cost, attempts = usage.Add(rec.Usage), cost+rec.Cost, attempts+1
	}
	if attempts != len(w.claims) || usage != w.Usage() || usage != w.ledger.took.Usage ||
		math.Abs(cost-w.ledger.took.USD) > 1e-12 {
		t.Errorf("%d attempts took %+v for %v; %d claims, the session has %+v, the ledger %+v", attempts, usage, cost,
			len(w.claims), w.Usage(), w.ledger.took)
	}
}

// resume cuts a session after each record and continues in another process, with the chosen model
// as before.
func (c matrixCase) resume(t *testing.T, records []journal.Record) {
	for n := 2; n <= len(records); n++ {
		state, err := agent.Load(context.Background(), journal.NewMemory(records[:n]...))
		if err != nil {
			t.Fatal(err)
		}
		if state.Input == nil {
			continue
		}
		begun := begunCalls(t, records[:n])
		log := journal.NewMemory(records[:n]...)
		w := c.world(t, log)
		result, err := w.Continue(context.Background())
		if err != nil || result.Reason != agent.ReasonCompleted || result.Text != matrixScript[2].Text {
			t.Fatalf("cut after %d (%s): %+v, %v", n, records[n-1].Kind, result, err)
		}
		want := slices.DeleteFunc(slices.Clone(matrixCalls), func(id string) bool { return slices.Contains(begun, id) })
		if diff := gocmp.Diff(want, w.ran(t), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("cut after %d (%s): calls (-want +ran):\n%s", n, records[n-1].Kind, diff)
		}
		for i, said := range canonical(historyOf(w.Session)) {
			if want := matrixSaid()[i]; said != want &&
				!slices.ContainsFunc(begun, func(id string) bool { return strings.HasPrefix(said, "result "+id) }) {
				t.Errorf("cut after %d (%s): %q, want %q", n, records[n-1].Kind, said, want)
			}
		}
		if changes := countKind(t, log, "model"); changes != 1 {
			t.Errorf("cut after %d (%s): %d changes", n, records[n-1].Kind, changes)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := agent.Replay(context.Background(), log, agent.ReplayOptions{}); err != nil {
			t.Errorf("cut after %d (%s): replay: %v", n, records[n-1].Kind, err)
		}
	}
}

// begunCalls returns the calls that must not run again: those with an intent or a result.
func begunCalls(t *testing.T, records []journal.Record) (ids []string) {
	t.Helper()
	for _, line := range records {
		var rec struct {
			Calls []struct {
				ID string `json:"id"`
			} `json:"calls"`
			CallID string `json:"call_id"`
		}
		if err := json.Unmarshal(line.Data, &rec); err != nil {
			t.Fatal(err)
		}
		switch line.Kind {
		case "intent":
			for _, c := range rec.Calls {
				ids = append(ids, c.ID)
			}
		case "result":
			ids = append(ids, rec.CallID)
		}
	}
	return ids
}

func countKind(t *testing.T, log journal.Log, kind string) (n int) {
	t.Helper()
	for _, r := range all(t, log) {
		if r.Kind == kind {
			n++
		}
	}
	return n
}
