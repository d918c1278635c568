package command

import (
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
)

// What a list says about a task is so.
func TestP2_ListedStatus(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for want, s := range map[string]fleet.Status{
		"for 2m 00s":         {State: fleet.Queued, Submitted: ago(2 * time.Minute)},
		"for 1m 00s · on w1": {State: fleet.Running, Started: ago(time.Minute), Worker: "w1"},
		"for another 30s · p is down": {State: fleet.Paused, Started: ago(time.Minute),
			NotBefore: now.Add(30 * time.Second), Reason: "p is down"},
		"p was down": {State: fleet.Paused, Started: ago(time.Minute), NotBefore: ago(time.Second),
			Reason: "p was down"},
		"in 1m 00s": {State: fleet.Done, Started: ago(2 * time.Minute), Ended: ago(time.Minute)},
		"not passed: exit code 1: a b": {State: fleet.Done, Result: &agent.Result{Reason: agent.ReasonDone},
			Verdict: &fleet.Verdict{Reason: "exit code 1: a b"}},
		"stopped at max_turns · passed": {State: fleet.Done, Result: &agent.Result{Reason: agent.ReasonMaxTurns},
			Verdict: &fleet.Verdict{Passed: true}},
		"It was canceled before it ran.": {State: fleet.Canceled, Ended: now, Reason: "It was canceled before it ran."},
	} {
		if got := about(s, now); got != want {
			t.Errorf("%+v: %q, not %q", s, got, want)
		}
	}
}
