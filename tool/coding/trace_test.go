package coding

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tracecontext"
)

// Commands get the trace context of their call, and so do those that outlive it.
func TestN6_TraceInCommands(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	b := newFixture(t)
	ctx := tracecontext.With(t.Context(), tracecontext.Fields{Parent: parent, State: "a=1"})
	show := object{"command": `echo "<$TRACEPARENT|$TRACESTATE>"`, "description": "shows the trace"}
	if got := b.runCall(ctx, sh(), show, tool.Call{}).Model.Text(); !strings.Contains(got, "<"+parent+"|a=1>") {
		t.Errorf("a command printed %q", got)
	}
	if got := b.ok(sh(), show); got != "<|>\n" {
		t.Errorf("without a trace a command printed %q", got)
	}
	h, _ := withProcesses(t, b)
	show["run_in_background"] = true
	if got := b.runCall(ctx, sh(), show, tool.Call{Session: h}).Model.Text(); !strings.Contains(got,
		"<"+parent+"|a=1>") {
		t.Errorf("a command in the background printed %q", got)
	}
}
