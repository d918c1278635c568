package command

import (
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/render"
)

// What a list says about a task is so.
func TestP2_ListedStatus(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.Local)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for want, s := range map[string]fleet.Status{
		"· t  queued · for 2m 00s":        {State: fleet.Queued, Submitted: ago(2 * time.Minute)},
		"· t  running on w1 · for 1m 00s": {State: fleet.Running, Started: ago(time.Minute), Worker: "w1"},
		"· t  running on w1 · for 1m 00s · waits for an answer: attractor-fleet asks t": {State: fleet.Running,
			Started: ago(time.Minute), Worker: "w1", Waits: true},
		"· t  paused until 12:00:30 · p is down": {State: fleet.Paused, Started: ago(time.Minute),
			NotBefore: now.Add(30 * time.Second), Reason: "p is down"},
		"✓ t  1 turn · tokens unknown · 1m 00s · passed": {State: fleet.Done, Started: ago(2 * time.Minute),
			Ended: ago(time.Minute), Result: &agent.Result{Reason: agent.ReasonDone, Turns: 1},
			Verdict: &fleet.Verdict{Passed: true}},
		"✗ t  stopped at max_turns · not passed: exit code 1: a b": {State: fleet.Done,
			Result: &agent.Result{Reason: agent.ReasonMaxTurns}, Verdict: &fleet.Verdict{Reason: "exit code 1: a b"}},
		"✗ t  canceled: It was canceled before it ran.": {State: fleet.Canceled, Ended: now,
			Reason: "It was canceled before it ran."},
	} {
		s.ID = "t"
		if got := listed(render.Style{}, s, now); got != want {
			t.Errorf("%+v: %q, not %q", s, got, want)
		}
	}
}
