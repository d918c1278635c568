package providertest

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// Config holds what a provider under test must be created with.
type Config struct {
	BaseURL string
	APIKey  string
	Client  *http.Client
	// Idle is the idle timeout.
	Idle time.Duration
}

// suiteKey must not occur in any error.
const suiteKey = "sk-suite-0123456789"

// Suite checks that a provider keeps the stream contract of package llm, against the scripted
// server of package fakellm and its faults. Every case but "session", which uses a real connection,
// runs in a synctest bubble, so waiting takes no time. Cases that the provider's API cannot
// express, such as "answer/call with broken arguments", are named in except and skipped.
func Suite(t *testing.T, newProvider func(t *testing.T, c Config) llm.Provider, except ...string) {
	s := suite{newProvider, except}
	s.answers(t)
	s.refusals(t)
	s.breaks(t)
	s.stalls(t)
	s.bounds(t)
	s.endings(t)
	t.Run("session", s.session)
}

type suite struct {
	newProvider func(t *testing.T, c Config) llm.Provider
	except      []string
}

func (s suite) connect(t *testing.T, h http.Handler) llm.Provider {
	return s.newProvider(t, Config{BaseURL: "http://model.test", APIKey: suiteKey, Client: llmtest.PipeClient(t, h),
		Idle: time.Minute})
}

func (s suite) run(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		if slices.Contains(s.except, name) {
			t.Skip("this provider's API cannot express the case")
		}
		synctest.Test(t, test)
	})
}

// newRequest returns the request of every case.
func newRequest() *llm.Request {
	return &llm.Request{Model: "fake-1", Messages: []llm.Message{llm.System("Be brief."), llm.User("Go on.")},
		MaxTokens: 2048,
		Tools:     []llm.ToolDefinition{{Name: "look", Description: "Looks.", Parameters: []byte(`{"type":"object"}`)}}}
}

const speech = "Nine words in three deltas, so that faults fit."

func (s suite) answers(t *testing.T) {
	for name, turn := range map[string]fakellm.Turn{
		"text":     {Text: speech},
		"thinking": {Thinking: "Let me see, <b>&\u2028 that is easy.", Text: speech},
		"calls": {Text: "I look.", Calls: []fakellm.Call{
			{Name: "look", Args: []byte(`{"at": "a \"quoted\" <thing> né 😀"}`)},
			{Name: "look", Args: []byte(`{"at":"b"}`)}}},
		"call without arguments": {Calls: []fakellm.Call{{Name: "look"}}},
		"call with broken arguments": {Calls: []fakellm.Call{{Name: "look", Raw: `{"at": "b`}},
			Finish: llm.FinishLength},
		"length":  {Text: speech, Finish: llm.FinishLength},
		"refusal": {Text: "No.", Finish: llm.FinishContentFilter},
		"empty":   {},
	} {
		s.run(t, "answer/"+name, func(t *testing.T) {
			p := s.connect(t, fakellm.New(fakellm.Script(turn), fakellm.Options{}))
			events, err := Contract(t, p.Stream(t.Context(), newRequest()))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, events[len(events)-1].Response, turn)
		})
	}
}

// compare compares a response with the script.
func compare(t *testing.T, got *llm.Response, want fakellm.Turn) {
	t.Helper()
	if got == nil { // Contract has reported it
		return
	}
	if got.Text() != want.Text || got.Reasoning() != want.Thinking {
		t.Errorf("text %q, thinking %q; want %q, %q", got.Text(), got.Reasoning(), want.Text, want.Thinking)
	}
	calls := got.ToolCalls()
	if len(calls) != len(want.Calls) {
		t.Fatalf("%d calls, want %d", len(calls), len(want.Calls))
	}
	for i, c := range want.Calls {
		args := cmp.Or(c.Raw, string(c.Args), "{}")
		if calls[i].Name != c.Name || calls[i].Args != args {
			t.Errorf("call %d: %s %s, want %s %s", i, calls[i].Name, calls[i].Args, c.Name, args)
		}
	}
	finish := cmp.Or(want.Finish, llm.FinishStop)
	if want.Finish == "" && len(want.Calls) > 0 {
		finish = llm.FinishToolCalls
	}
	if got.Finish.Reason != finish {
		t.Errorf("finish %q, want %q", got.Finish.Reason, finish)
	}
	if got.Usage.Input <= 0 || want.Text != "" && got.Usage.Output <= 0 {
		t.Errorf("usage %+v", got.Usage)
	}
}

// fails runs one request against a fault and checks the error.
func (s suite) fails(t *testing.T, name string, fault fakellm.Fault, kind error,
	more func(t *testing.T, e *llm.Error)) {
	s.run(t, name, func(t *testing.T) {
		model := fakellm.Script(fakellm.Turn{Text: speech,
			Calls: []fakellm.Call{{Name: "look", Args: []byte(`{"at":"something far away"}`)}}})
		p := s.connect(t, fakellm.New(model, fakellm.Options{Faults: map[int]fakellm.Fault{1: fault}}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // fails if a stall goes unnoticed
		defer cancel()
		events, err := Contract(t, p.Stream(ctx, newRequest()))
		if !errors.Is(err, kind) {
			t.Fatalf("%v after %d events, want %v", err, len(events), kind)
		}
		var e *llm.Error
		if !errors.As(err, &e) || strings.Contains(err.Error()+e.Code+string(e.Raw), suiteKey) {
			t.Errorf("the error holds the key: %v", err)
		}
		if more != nil {
			more(t, e)
		}
		// only the first request had the fault
		if _, err := Contract(t, p.Stream(t.Context(), newRequest())); err != nil {
			t.Errorf("the next request: %v", err)
		}
	})
}

func (s suite) refusals(t *testing.T) {
	for status, kind := range map[int]error{
		400: llm.ErrInvalidRequest,
		401: llm.ErrAuthentication,
		402: llm.ErrQuota,
		403: llm.ErrAccessDenied,
		404: llm.ErrNotFound,
		413: llm.ErrContextLength,
		429: llm.ErrRateLimit,
		500: llm.ErrServer,
		502: llm.ErrServer,
		504: llm.ErrTimeout,
		529: llm.ErrOverloaded,
	} {
		s.fails(t, "status/"+http.StatusText(status), fakellm.Fault{Kind: fakellm.FaultStatus, Status: status,
			Header: map[string]string{"Retry-After": "7", "Request-Id": "req_x"}}, kind,
			func(t *testing.T, e *llm.Error) {
				if e.Status != status || e.RetryAfter != 7*time.Second || e.RequestID != "req_x" || e.Message == "" ||
					len(e.Raw) == 0 {
					t.Errorf("the error lacks something: %+v", e)
				}
				if llm.Retryable(e) != (status == 429 || status >= 500) {
					t.Errorf("retryable: %v", llm.Retryable(e))
				}
			})
	}
	s.fails(t, "status/an error page", fakellm.Fault{Kind: fakellm.FaultStatus, Status: 200,
		Body: "<html><body>Log in</body></html>"}, llm.ErrServer, wantRetryable)
	s.fails(t, "status/the key echoed", fakellm.Fault{Kind: fakellm.FaultStatus, Status: 401,
		Body: `{"error":{"type":"x","message":"bad key ` + suiteKey + `"}}`}, llm.ErrAuthentication, nil)
	s.fails(t, "status/redirect", fakellm.Fault{Kind: fakellm.FaultStatus, Status: 307,
		Header: map[string]string{"Location": "http://thief.test/v1/messages"}}, llm.ErrConfiguration, nil)
	s.fails(t, "status/empty", fakellm.Fault{Kind: fakellm.FaultStatus, Status: 200, Body: "\n",
		Header: map[string]string{"Content-Type": "text/event-stream"}}, llm.ErrStream, nil)
}

func (s suite) breaks(t *testing.T) {
	fails := func(name string, fault fakellm.Fault, kind error) {
		s.fails(t, "break/"+name, fault, kind, wantRetryable)
	}
	fails("before the answer", fakellm.Fault{Kind: fakellm.FaultReset}, llm.ErrNetwork)
	for name, after := range map[string]int{
		"at once": 0, "in the text": 2, "in the arguments": 5, "before the end": 1000} {
		fails("cut "+name, fakellm.Fault{Kind: fakellm.FaultCut, After: after}, llm.ErrStream)
		fails("end "+name, fakellm.Fault{Kind: fakellm.FaultEnd, After: after}, llm.ErrStream)
		fails("error "+name, fakellm.Fault{Kind: fakellm.FaultError, After: after}, llm.ErrOverloaded)
		fails("garbage "+name, fakellm.Fault{Kind: fakellm.FaultGarbage, After: after}, llm.ErrStream)
	}
}

func wantRetryable(t *testing.T, e *llm.Error) {
	t.Helper()
	if !llm.Retryable(e) {
		t.Error("not retryable")
	}
}

func (s suite) stalls(t *testing.T) {
	for _, fault := range []fakellm.Fault{
		{Kind: fakellm.FaultSilence},
		{Kind: fakellm.FaultHang, After: 2},
		{Kind: fakellm.FaultPings, After: 2, Every: time.Second},
	} {
		s.fails(t, "stall/"+string(fault.Kind), fault, llm.ErrTimeout, func(t *testing.T, e *llm.Error) {
			if begun := fault.Kind != fakellm.FaultSilence; errors.Is(e, llm.ErrStream) != begun || !llm.Retryable(e) {
				t.Errorf("a stall is a broken stream once there is one: %v", e)
			}
			// A bubble's clock starts at midnight UTC 2000-01-01.
			if took := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)); took != time.Minute {
				t.Errorf("a silent server was noticed after %v, want %v: pass on Config.Idle, and limit each wait by "+
					"it", took, time.Minute)
			}
		})
	}
	s.run(t, "stall/a slow listener is none", func(t *testing.T) {
		p := s.connect(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: speech}), fakellm.Options{}))
		if _, err := Contract(t, func(yield func(llm.StreamEvent, error) bool) {
			for ev, err := range p.Stream(t.Context(), newRequest()) {
				time.Sleep(time.Hour) // in the bubble
				if !yield(ev, err) {
					return
				}
			}
		}); err != nil {
			t.Error(err)
		}
	})
	s.run(t, "stall/a slow model is none", func(t *testing.T) {
		p := s.connect(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: speech}),
			fakellm.Options{Delay: 25 * time.Second}))
		if _, err := Contract(t, p.Stream(t.Context(), newRequest())); err != nil {
			t.Error(err)
		}
	})
}

// mib returns a text of n MiB.
func mib(n int) string { return strings.Repeat("word or other... ", n<<16)[:n<<20] }

// bounds checks that a response of more than 16 MiB is cut off, counting thinking, text and the
// arguments of all calls together, and that the error is final.
func (s suite) bounds(t *testing.T) {
	calls := func(n int) (calls []fakellm.Call) {
		for range n {
			calls = append(calls, fakellm.Call{Name: "look", Args: []byte(`{"x":"` + mib(1) + `"}`)})
		}
		return calls
	}
	for name, c := range map[string]struct {
		turn fakellm.Turn
		cut  bool
	}{
		"more":     {fakellm.Turn{Thinking: mib(5), Text: mib(6), Calls: calls(6)}, true},
		"not more": {fakellm.Turn{Thinking: mib(5), Text: mib(5), Calls: calls(5)}, false},
	} {
		s.run(t, "bound/"+name, func(t *testing.T) {
			p := s.connect(t, fakellm.New(fakellm.Script(c.turn), fakellm.Options{Words: 30_000}))
			events, err := Contract(t, p.Stream(t.Context(), newRequest()))
			if !c.cut {
				if err != nil {
					t.Fatal(err)
				}
				compare(t, events[len(events)-1].Response, c.turn)
				return
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.ErrStream || llm.Retryable(err) ||
				!strings.Contains(e.Message, "16 MiB") {
				t.Errorf("%v after %d events", err, len(events))
			}
		})
	}
}

var errGivenUp = errors.New("the test gave up")

func (s suite) endings(t *testing.T) {
	s.run(t, "end/cancelled before", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errGivenUp)
		server := fakellm.New(fakellm.Script(), fakellm.Options{})
		_, err := Contract(t, s.connect(t, server).Stream(ctx, newRequest()))
		wantAborted(t, err)
		if n := len(server.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
	hang := fakellm.Options{Faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultHang, After: 2}}}
	s.run(t, "end/cancelled in the middle", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errGivenUp) })
		gone := make(chan struct{})
		p := s.connect(t, noticing(fakellm.New(fakellm.Script(fakellm.Turn{Text: speech}), hang), gone))
		_, err := Contract(t, p.Stream(ctx, newRequest()))
		wantAborted(t, err)
		<-gone
	})
	s.run(t, "end/the listener leaves", func(t *testing.T) {
		gone := make(chan struct{})
		p := s.connect(t, noticing(fakellm.New(fakellm.Script(fakellm.Turn{Text: speech}), hang), gone))
		for ev, err := range p.Stream(t.Context(), newRequest()) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Type == llm.EventTextDelta {
				break
			}
		}
		<-gone // a connection that stayed open would deadlock the bubble
	})
	// goroutines left running would deadlock the bubble
	s.run(t, "end/the listener leaves at any event", func(t *testing.T) {
		p := s.connect(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: strings.Repeat("word ", 10000)}),
			fakellm.Options{}))
		for leaveAt := range 20 {
			n := 0
			for _, err := range p.Stream(t.Context(), newRequest()) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n > leaveAt {
					break
				}
			}
		}
	})
	s.run(t, "end/the connection serves the next call", s.reuse)
	s.run(t, "end/nothing is sent before the range", func(t *testing.T) {
		server := fakellm.New(fakellm.Script(), fakellm.Options{})
		_ = s.connect(t, server).Stream(t.Context(), newRequest())
		synctest.Wait()
		if n := len(server.Requests()); n != 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
}

// reuse checks that calls share a connection: a new one for each call would cost a TLS handshake.
func (s suite) reuse(t *testing.T) {
	client := llmtest.PipeClient(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	transport := client.Transport.(*http.Transport)
	dial, dials := transport.DialContext, 0
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return dial(ctx, network, addr)
	}
	p := s.newProvider(t, Config{BaseURL: "http://model.test", APIKey: suiteKey, Client: client, Idle: time.Minute})
	for range 5 {
		if _, err := llm.Collect(p.Stream(t.Context(), newRequest())); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	if dials != 1 {
		t.Errorf("%d connections for 5 calls", dials)
	}
}

func wantAborted(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, llm.ErrAborted) || !errors.Is(err, errGivenUp) || llm.Retryable(err) {
		t.Errorf("%v, want ErrAborted with the context's cause", err)
	}
}

// noticing returns a handler that closes gone after its first request.
func noticing(h http.Handler, gone chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(gone)
		h.ServeHTTP(w, r)
	})
}
