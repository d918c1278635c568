package providers_test

import (
	"context"
	"iter"
	"net/http"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// The caller is for middleware alone: request line, headers and body are the same with it and
// without it.
func TestJ14_TheCallerIsNotSent(t *testing.T) {
	for _, v := range append(vendors(), compatible()) {
		t.Run(v.name, func(t *testing.T) {
			b := newBench(t, v, "key", nil, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "one"})
			var seen []llm.Caller
			b.client.Middleware = []llm.Middleware{func(next llm.Handler) llm.Handler {
				return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
					seen = append(seen, req.Caller)
					return next(ctx, req)
				}
			}}
			who := llm.Caller{Session: "session-4711", Agent: "agent-4711", Step: 4711, Attempt: 4711,
				Purpose: "purpose-4711"}
			for _, caller := range []llm.Caller{{}, who} {
				req := b.request(llm.Text{Text: "hello"})
				req.Caller = caller
				if _, err := b.client.Complete(t.Context(), req); err != nil {
					t.Fatal(err)
				}
			}
			sent := b.server.Requests()
			type wire struct {
				Path, Query string
				Header      http.Header
				Body        string
			}
			of := func(r *fakellm.Request) wire { return wire{r.Path, r.Query.Encode(), r.Header, string(r.Body)} }
			if diff := gocmp.Diff(of(sent[0]), of(sent[1])); diff != "" || len(sent[1].Body) == 0 {
				t.Errorf("the caller is sent:\n%s", diff)
			}
			if diff := gocmp.Diff([]llm.Caller{{}, who}, seen); diff != "" {
				t.Errorf("middleware sees another caller:\n%s", diff)
			}
		})
	}
}
