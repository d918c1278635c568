package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ask(text string) *llm.Request {
	return &llm.Request{Model: "m-1", Messages: []llm.Message{llm.User(text)}}
}

func TestG2_Routing(t *testing.T) {
	a, b := llmtest.NewProvider("a"), llmtest.NewProvider("b")
	for name, tt := range map[string]struct {
		client llm.Client
		ask    string
		want   string // a provider, or a part of the error
	}{
		"by name":            {llm.Client{Providers: []llm.Provider{a, b}}, "b", "b"},
		"by name, a default": {llm.Client{Providers: []llm.Provider{a, b}, Default: "a"}, "b", "b"},
		"default":            {llm.Client{Providers: []llm.Provider{a, b}, Default: "b"}, "", "b"},
		"the only one":       {llm.Client{Providers: []llm.Provider{a}}, "", "a"},
		"no guess": {llm.Client{Providers: []llm.Provider{a, b}}, "",
			"error: the request names no provider and the client has no default: set Provider to one of a, b"},
		"unknown": {llm.Client{Providers: []llm.Provider{a}}, "c",
			`error: unknown provider "c"; the client has a`},
		"unknown default": {llm.Client{Providers: []llm.Provider{a}, Default: "c"}, "",
			`error: unknown provider "c"; the client has a`},
		"none": {llm.Client{}, "",
			"error: the client has no providers: give it one, or set an API key in the environment"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := tt.client.Provider(tt.ask)
			if says, isError := strings.CutPrefix(tt.want, "error: "); isError {
				if !errors.Is(err, llm.ErrConfiguration) || !strings.Contains(err.Error(), says) {
					t.Errorf("error %v", err)
				}
				req := ask("hi")
				req.Provider = tt.ask
				if _, err := tt.client.Complete(t.Context(), req); !errors.Is(err, llm.ErrConfiguration) {
					t.Errorf("complete: %v", err)
				}
				return
			}
			if err != nil || p.Name() != tt.want {
				t.Errorf("%v, %v", p, err)
			}
		})
	}
}

// trace returns a middleware that logs when a request and its events pass.
func trace(name string, log *[]string) llm.Middleware {
	return func(next llm.Handler) llm.Handler {
		return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
			*log = append(*log, name+" request")
			return func(yield func(llm.StreamEvent, error) bool) {
				for ev, err := range next(ctx, req) {
					*log = append(*log, name+" "+ev.Type.String())
					if !yield(ev, err) {
						return
					}
				}
			}
		}
	}
}

func TestG2_FirstMiddlewareIsOutermost(t *testing.T) {
	var log []string
	client := llm.Client{Providers: []llm.Provider{llmtest.NewProvider("p", llmtest.Answer())},
		Middleware: []llm.Middleware{trace("outer", &log), trace("inner", &log)}}
	if _, err := client.Complete(t.Context(), ask("hi")); err != nil {
		t.Fatal(err)
	}
	want := []string{"outer request", "inner request", "inner start", "outer start", "inner finish", "outer finish"}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

func TestClientFillsInWhatItKnows(t *testing.T) {
	p := llmtest.NewProvider("p", llmtest.Text("1"), llmtest.Text("2"), llmtest.Text("3"))
	client := llm.Client{Providers: []llm.Provider{p}, Models: func(provider, model string) (llm.Model, bool) {
		return llm.Model{ID: model, Provider: provider, Window: 100}, model == "known"
	}}
	own := &llm.Model{Window: 7}
	requests := []*llm.Request{ask("1"), ask("2"), ask("3")}
	requests[0].Model, requests[1].Model, requests[2].Model = "known", "new", "known"
	requests[2].Facts = own
	for _, req := range requests {
		before := *req
		if _, err := client.Complete(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&before, req, cmp.Comparer(func(a, b *llm.Model) bool { return a == b })); diff != "" {
			t.Errorf("the caller's request was changed: %s", diff)
		}
	}
	got := p.Requests()
	if got[0].Provider != "p" || got[0].Facts == nil || got[0].Facts.Window != 100 {
		t.Errorf("a known model: %+v", got[0])
	}
	if got[1].Facts != nil {
		t.Errorf("an unknown model: %+v", got[1].Facts)
	}
	if got[2].Facts != own {
		t.Errorf("given facts: %+v", got[2].Facts)
	}
}

func TestRequestValidate(t *testing.T) {
	tools := []llm.ToolDefinition{{Name: "look"}}
	with := func(change func(*llm.Request)) *llm.Request {
		r := ask("hi")
		change(r)
		return r
	}
	for name, tt := range map[string]struct {
		req  *llm.Request
		says string // empty: valid
	}{
		"plain": {ask("hi"), ""},
		"none":  {with(func(r *llm.Request) { r.ToolChoice.Mode = llm.ToolNone }), ""},
		"named": {with(func(r *llm.Request) {
			r.Tools, r.ToolChoice = tools, llm.ToolChoice{Mode: llm.ToolNamed, Name: "look"}
		}), ""},
		"no model":    {with(func(r *llm.Request) { r.Model = "" }), "no model"},
		"no messages": {with(func(r *llm.Request) { r.Messages = nil }), "no messages"},
		"unknown role": {with(func(r *llm.Request) { r.Messages[0].Role = "robot" }),
			`message 0: unknown role "robot"`},
		"pointer part": {with(func(r *llm.Request) { r.Messages[0].Parts = llm.Parts{&llm.Text{}} }),
			"message 0: part 0"},
		"required": {with(func(r *llm.Request) { r.ToolChoice.Mode = llm.ToolRequired }), "has no tools"},
		"unknown tool": {with(func(r *llm.Request) {
			r.Tools, r.ToolChoice = tools, llm.ToolChoice{Mode: llm.ToolNamed, Name: "see"}
		}), `"see"`},
		"unknown mode": {with(func(r *llm.Request) { r.ToolChoice.Mode = "maybe" }), `"maybe"`},
	} {
		err := tt.req.Validate()
		if tt.says == "" && err == nil {
			continue
		}
		if tt.says == "" || !errors.Is(err, llm.ErrInvalidRequest) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
		}
		p := llmtest.NewProvider("p", llmtest.Text("x"))
		client := llm.Client{Providers: []llm.Provider{p}}
		if _, err := client.Complete(t.Context(), tt.req); !errors.Is(err, llm.ErrInvalidRequest) ||
			len(p.Requests()) > 0 {
			t.Errorf("%s: sent, %v", name, err)
		}
	}
}

func TestCollect(t *testing.T) {
	resp := &llm.Response{ID: "r"}
	finish := llm.StreamEvent{Type: llm.EventFinish, Response: resp}
	events := func(list ...any) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			for _, x := range list {
				ev, _ := x.(llm.StreamEvent)
				err, _ := x.(error)
				if !yield(ev, err) {
					return
				}
			}
		}
	}
	if got, err := llm.Collect(events(llm.StreamEvent{Type: llm.EventStart}, finish)); got != resp || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	broken := llm.Errorf(llm.ErrServer, "down")
	if got, err := llm.Collect(events(llm.StreamEvent{Type: llm.EventStart}, broken)); got != nil ||
		err != error(broken) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := llm.Collect(events(llm.StreamEvent{Type: llm.EventStart})); got != nil ||
		!errors.Is(err, llm.ErrStream) {
		t.Errorf("silence: %v, %v", got, err)
	}
	if got, err := llm.Collect(llm.Fail(broken)); got != nil || err != error(broken) {
		t.Errorf("fail: %v, %v", got, err)
	}
}

func TestG7_UsageArithmetic(t *testing.T) {
	a := llm.Usage{Input: 10, CacheRead: 4, CacheWrite: 3, Output: 5, Reasoning: 2}
	b := llm.Usage{Input: 1, CacheRead: 1, CacheWrite: 1, Output: 1, Reasoning: 1}
	sum := llm.Usage{Input: 11, CacheRead: 5, CacheWrite: 4, Output: 6, Reasoning: 3}
	if a.Add(b) != sum || sum.Sub(b) != a || sum.Total() != 17 {
		t.Errorf("%+v %+v %d", a.Add(b), sum.Sub(b), sum.Total())
	}
	if r := a.CacheHitRatio(); r != 0.4 {
		t.Errorf("ratio %v", r)
	}
	if r := (llm.Usage{}).CacheHitRatio(); r != 0 {
		t.Errorf("ratio of nothing %v", r)
	}
}

func TestG10_ModelCost(t *testing.T) {
	m := &llm.Model{Input: []string{"text"}, Prices: []llm.Price{{Input: 2, Output: 10, CacheRead: 0.2,
		CacheWrite: 2.5},
		{Above: 1000, Input: 4, Output: 20, CacheRead: 0.4, CacheWrite: 5}}}
	plain := &llm.Model{Prices: []llm.Price{{Input: 2, Output: 10}}}
	for _, tt := range []struct {
		m     *llm.Model
		u     llm.Usage
		usd   string
		known bool
	}{
		{nil, llm.Usage{Input: 5}, "0.000000", false},
		{&llm.Model{}, llm.Usage{Input: 5}, "0.000000", false},
		// 400*2 + 500*.2 + 100*2.5 + 100*10
		{m, llm.Usage{Input: 1000, CacheRead: 500, CacheWrite: 100, Output: 100}, "0.002150", true},
		{m, llm.Usage{Input: 1001, Output: 100}, "0.006004", true},
		// cached input is not free
		{plain, llm.Usage{Input: 1000, CacheRead: 500, CacheWrite: 100, Output: 100}, "0.003000", true},
		// the server counts in its own way
		{plain, llm.Usage{Input: 100, CacheRead: 500}, "0.001000", true},
	} {
		if usd, known := tt.m.Cost(tt.u); known != tt.known || fmt.Sprintf("%.6f", usd) != tt.usd {
			t.Errorf("%+v: %.6f %v, want %s", tt.u, usd, known, tt.usd)
		}
	}
	var unknown *llm.Model
	if !unknown.Takes("audio") || !(&llm.Model{}).Takes("audio") || m.Takes("audio") || !m.Takes("text") {
		t.Error("modalities")
	}
}

func TestMemo(t *testing.T) {
	messages := []llm.Message{llm.User("1"), llm.Assistant("2"), llm.User("3"), llm.Assistant("4")}
	memo := new(llm.Memo)
	var log []string
	// call encodes n messages and notes how many of them were encoded before.
	call := func(memo *llm.Memo, key string, messages []llm.Message, fail error) error {
		return memo.Encode(key, messages, func(state any, from int) (any, error) {
			have, _ := state.([]string)
			if len(have) != from {
				t.Errorf("state of %d messages, %d said", len(have), from)
			}
			for _, m := range messages[from:] {
				have = append(have, m.Parts.Text())
			}
			log = append(log, fmt.Sprintf("%d+%d", from, len(messages)-from))
			return have, fail
		})
	}
	broken := errors.New("broken")
	edited := slices.Clone(messages)
	edited[0] = llm.User("1") // the same text, but another message
	steps := []struct {
		key      string
		messages []llm.Message
		fail     error
		want     string
	}{
		{"k", messages[:2], nil, "0+2"},
		{"k", messages[:3], nil, "2+1"},
		{"k", messages[:3], nil, "3+0"},
		{"k", slices.Clone(messages), nil, "3+1"}, // another list of the same messages
		{"k", messages[:3], nil, "0+3"},           // shorter
		{"other", messages, nil, "0+4"},
		{"other", edited, nil, "0+4"},
		{"other", edited, broken, "4+0"},
		{"other", edited, nil, "0+4"}, // after an error
	}
	for i, s := range steps {
		log = nil
		if err := call(memo, s.key, s.messages, s.fail); err != s.fail {
			t.Errorf("step %d: %v", i, err)
		}
		if got := strings.Join(log, " "); got != s.want {
			t.Errorf("step %d: %s, want %s", i, got, s.want)
		}
	}
	log = nil
	if err := errors.Join(call(nil, "k", messages, nil), call(nil, "k", messages, nil)); err != nil ||
		strings.Join(log, " ") != "0+4 0+4" {
		t.Errorf("a nil memo: %v, %v", log, err)
	}
}

func TestRequestJSONLeavesOutWhatIsLocal(t *testing.T) {
	req := ask("hi")
	req.Facts, req.Memo = &llm.Model{ID: "secret"}, new(llm.Memo)
	data, err := json.Marshal(req)
	if want := `{"model":"m-1","messages":[{"role":"user","parts":[{"text":{"text":"hi"}}]}]}`; err != nil ||
		string(data) != want {
		t.Errorf("%v\n got %s\nwant %s", err, data, want)
	}
}
