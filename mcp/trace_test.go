package mcp

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tracecontext"
)

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// A server gets the trace context of the call that asks it, and none without.
func TestN6_TraceInMeta(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	ctx := tracecontext.With(t.Context(), tracecontext.Fields{Parent: traceparent, State: "a=1"})
	if got := run(ctx, t, s, "mcp__lab__trace", `{}`, tool.Call{}).Model.Text(); got != traceparent+" a=1" {
		t.Errorf("the server got %q", got)
	}
	if got := run(t.Context(), t, s, "mcp__lab__trace", `{}`, tool.Call{}).Model.Text(); got != "<nil> <nil>" {
		t.Errorf("without a trace the server got %q", got)
	}
}

// A remote server gets it in the header of the request, too.
func TestN6_TraceInHeaders(t *testing.T) {
	p := startPlain(t)
	var header, body atomic.Value
	p.Before = func(_ http.ResponseWriter, r *http.Request, said string) bool {
		if strings.Contains(said, "tools/call") {
			header.Store(r.Header.Get("Traceparent"))
			body.Store(said)
		} else if r.Header.Get("Traceparent") != "" {
			t.Errorf("%s has a trace, although it is not part of a call", said)
		}
		return false
	}
	s := ready(t, Options{Servers: []Server{{Name: "plain", URL: p.URL, Required: true}}})
	ctx := tracecontext.With(t.Context(), tracecontext.Fields{Parent: traceparent})
	if o := run(ctx, t, s, "mcp__plain__whoami", `{}`, tool.Call{}); o.IsError {
		t.Fatal(o.Model.Text())
	}
	if header.Load() != traceparent || !strings.Contains(body.Load().(string), `"traceparent":"`+traceparent+`"`) {
		t.Errorf("the server got the header %v and %v", header.Load(), body.Load())
	}
}
