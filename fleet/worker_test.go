package fleet_test

import (
	"io"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A task that comes when a worker has waited for one for longer than a claim holds is not lost at
// once.
func TestP4_TaskForAWorkerThatWaits(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	f.ttl = short
	f.start(f.worker("w1"))
	<-time.After(short * 3 / 2)
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	if s := f.wait("t1"); s.State != fleet.Done || s.Attempt != 1 || s.Failures != 0 {
		t.Errorf("status: %+v", s)
	}
}

func TestP4_TaskToItsResult(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(f.effect("one", "echo hello > a.txt"), f.effect("two", "cat a.txt"),
			fakellm.Turn{Text: "All done."})(r)
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it.", Artifacts: []string{"*.txt"}, Labels: map[string]string{"a": "b"}})
	f.start(f.worker("w1"))
	s := f.wait("t1")
	if s.State != fleet.Done || s.Result == nil || s.Result.Text != "All done." ||
		s.Result.Reason != agent.ReasonCompleted || s.Attempt != 1 {
		t.Fatalf("status: %+v, result %+v", s, s.Result)
	}
	if got := f.effects(); got["one"] != 1 || got["two"] != 1 {
		t.Errorf("effects: %v", got)
	}
	if len(s.Artifacts) != 2 || s.Artifacts[0].Name != "patch" || s.Artifacts[1].Name != "a.txt" {
		t.Fatalf("artifacts: %+v", s.Artifacts)
	}
	r, err := f.client().Artifact(t.Context(), "t1", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if data, err := io.ReadAll(r); err != nil || string(data) != "hello\n" {
		t.Errorf("a.txt: %q, %v", data, err)
	}
}
