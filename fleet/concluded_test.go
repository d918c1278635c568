package fleet

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
)

// unreadable has sessions that cannot be read.
type unreadable struct{ journal.Store }

func (unreadable) Read(context.Context, string) (journal.Reader, error) { return nil, fs.ErrNotExist }

// TestP2_InterruptedAtAnError has sessions that end with an error in the moment in which they are
// interrupted: whoever interrupts a task was told that it ends, so it is not tried again.
func TestP2_InterruptedAtAnError(t *testing.T) {
	t.Parallel()
	overloaded := &llm.Error{Kind: llm.ErrOverloaded, Provider: "p", Message: "busy"}
	refused := &llm.Error{Kind: llm.ErrAuthentication, Provider: "p", Message: "no"}
	for name, test := range map[string]struct {
		result *agent.Result
		err    error
		state  State
		reason agent.Reason
	}{
		"in order": {&agent.Result{Reason: agent.ReasonInterrupted}, errInterrupted, Done,
			agent.ReasonInterrupted},
		"cut off":   {nil, errInterrupted, Done, agent.ReasonInterrupted},
		"an outage": {nil, overloaded, Done, agent.ReasonInterrupted},
		"aborted":   {nil, &llm.Error{Kind: llm.ErrAborted, Provider: "p"}, Done, agent.ReasonInterrupted},
		"another error": {&agent.Result{Reason: agent.ReasonFailed}, errors.New("the disk is full"), Done,
			agent.ReasonInterrupted},
		"a final error": {&agent.Result{Reason: agent.ReasonFailed}, refused, Failed, agent.ReasonFailed},
		"not verified": {&agent.Result{Reason: agent.ReasonCompleted},
			&unverifiedError{errors.New("make test failed")}, Failed, agent.ReasonCompleted},
		"came to an end": {&agent.Result{Reason: agent.ReasonCompleted}, nil, Done, agent.ReasonCompleted},
	} {
		r := &running{Worker: Worker{TTL: time.Second}, life: t.Context()}
		j := &Job{Space: &Space{Journals: unreadable{}}, worker: r, claim: &aClaim{}, gate: &gate{},
			log: slog.New(slog.DiscardHandler)}
		j.hold, j.endHold = context.WithCancelCause(t.Context())
		j.stop, j.endStop = context.WithCancelCause(j.hold)
		j.endStop(errInterrupted)
		out := j.concluded(test.result, test.err)
		if out.state != test.state || out.result == nil || out.result.Reason != test.reason {
			t.Errorf("%s: %+v, %+v", name, out, out.result)
		}
	}
}

// aClaim is a claim that nobody has canceled.
type aClaim struct{ Claim }

func (*aClaim) Canceled() bool { return false }
