package llm_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

const secret = "sk-canary"

// logged returns what Log writes about the requests of a client, without the time.
func logged(t *testing.T, listen func(*testing.T, *llm.Client), steps ...llmtest.Step) string {
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b,
		&slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
	listen(t, &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("p", steps...)},
		Middleware: []llm.Middleware{llm.Log(logger)}})
	if strings.Contains(b.String(), secret) {
		t.Errorf("content in the log: %s", b.String())
	}
	return b.String()
}

func TestG12_Log(t *testing.T) {
	wait := func(then llmtest.Step) llmtest.Step {
		open := make(chan struct{})
		time.AfterFunc(1500*time.Millisecond, func() { close(open) })
		return llmtest.Gate(nil, open, then)
	}
	read := func(t *testing.T, c *llm.Client) { _, _ = c.Complete(t.Context(), ask("my key is "+secret)) }
	leave := func(t *testing.T, c *llm.Client) {
		for range c.Stream(t.Context(), ask(secret)) {
			break
		}
	}
	for name, tt := range map[string]struct {
		listen func(*testing.T, *llm.Client)
		step   llmtest.Step
		want   string
	}{
		"answer": {read, llmtest.Respond(llm.Response{Message: llm.Message{Parts: llm.TextParts(secret)},
			Usage: llm.Usage{Input: 9, CacheRead: 4, Output: 2}}),
			"level=INFO msg=\"model call\" provider=p model=m-1 duration=1.5s finish=stop input_tokens=9 " +
				"cache_read_tokens=4 output_tokens=2\n"},
		"error": {read, llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, Message: secret, Raw: []byte(secret),
			Status: 429, Code: "slow_down", RequestID: "r1"}),
			"level=WARN msg=\"model call\" provider=p model=m-1 duration=1.5s error_kind=rate_limit status=429 " +
				"code=slow_down request_id=r1\n"},
		"torn": {read, llmtest.Torn(secret, &llm.Error{Kind: llm.ErrStream, Message: secret}),
			"level=WARN msg=\"model call\" provider=p model=m-1 duration=1.5s error_kind=stream\n"},
		"left": {leave, llmtest.Text(secret),
			"level=INFO msg=\"model call\" provider=p model=m-1 duration=1.5s finish=abandoned\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, logged(t, tt.listen, wait(tt.step))); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// The line says who has made the request.
func TestN7_LogNamesTheCaller(t *testing.T) {
	got := logged(t, func(t *testing.T, c *llm.Client) {
		req := ask("hi")
		req.Caller = llm.Caller{Session: "s", Agent: "agent-1", Step: 3, Attempt: 2, Purpose: "answer"}
		_, _ = c.Complete(t.Context(), req) // the log says what came of it
	}, llmtest.Text("x"))
	if want := `msg="model call" session=s agent=agent-1 step=3 attempt=2 purpose=answer provider=p `; !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestLogWithoutALogger(t *testing.T) {
	var b bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&b, nil)))
	defer slog.SetDefault(before)
	client := llm.Client{Providers: []llm.Provider{llmtest.NewProvider("p", llmtest.Text("x"))},
		Middleware: []llm.Middleware{llm.Log(nil)}}
	if _, err := client.Complete(t.Context(), ask("hi")); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%v, %q", err, b.String())
	}
}
