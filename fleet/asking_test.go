package fleet_test

import (
	"context"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
)

// An answer counts for what its person was shown. Whether the command of a call may run again
// outside of the sandbox is another ask than whether it may run, and so are other arguments.
func TestP4_AnswersAreForWhatWasShown(t *testing.T) {
	f := newField(t, memfleet.Options{}, fakellm.Script(shell("echo hi"), fakellm.Turn{Text: "Done."}),
		fakellm.Options{})
	var base agent.Options
	w := f.worker("w", func(_ *fleet.Worker, o *agent.Options) { base = *o })
	w.Host = fleet.Sessions(func(_ context.Context, j *fleet.Job) (agent.Options, error) {
		o := base
		o.Authorize = func(context.Context, tool.Request) (tool.Decision, error) {
			return tool.Decision{Verdict: tool.Ask}, nil
		}
		o.Approve = func(ctx context.Context, req tool.Request) (d tool.Decision, err error) {
			other := req
			other.Call.Args = `{"command":"echo ho"}`
			for _, q := range []struct {
				req  tool.Request
				text string
			}{{req, "inside?"}, {req, "outside?"}, {other, "inside?"}, {req, "inside?"}} {
				if d, err = j.ApproveText(ctx, q.req, q.text); err != nil {
					return d, err
				}
			}
			return d, nil
		}
		return o, nil
	})
	f.start(w)
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	seen := map[string]bool{}
	for _, want := range []string{"inside?", "outside?", "inside?"} {
		f.until("another ask", func() bool {
			asked := f.asked("t1")
			return len(asked) == 1 && !seen[asked[0].ID]
		})
		ask := f.asked("t1")[0]
		if seen[ask.ID] = true; ask.Text != want {
			t.Errorf("asked %q, want %q", ask.Text, want)
		}
		if err := f.client().Answer(t.Context(), "t1", ask.ID, fleet.Answer{Allow: true}); err != nil {
			t.Fatal(err)
		}
	}
	if s := f.wait("t1"); s.State != fleet.Done { // what was answered before is not asked again
		t.Errorf("status: %+v", s)
	}
}
