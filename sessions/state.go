package sessions

import (
	"context"
	"errors"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
)

// State is the state of a session in a list.
type State string

// The states.
const (
	Running     State = "running"     // a process has it open
	New         State = "new"         // it has no input yet
	Open        State = "open"        // its last input is open: a resume goes on with it
	Interrupted State = "interrupted" // its last input was interrupted
	Waiting     State = "waiting"     // a question waits for a person
	Done        State = "done"
	Limited     State = "limited" // its last input ended at a limit
	Failed      State = "failed"  // its last input failed, was refused or is incomplete
	Unreadable  State = "unreadable"
)

// States returns the states.
func States() []State {
	return []State{Running, New, Open, Interrupted, Waiting, Done, Limited, Failed, Unreadable}
}

// Inspect reads a whole session and sets its State and CostUSD, and its Model to the newest. If the
// session cannot be read, its State is Unreadable and the error its Problem. Inspect returns only
// errors of the context.
func (s *Summary) Inspect(ctx context.Context, store journal.Store) error {
	state, err := load(ctx, store, s.ID)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		if s.State = Unreadable; s.Problem == "" {
			s.Problem = err.Error()
		}
	} else {
		s.State, s.CostUSD = stateOf(state), state.Cost
		s.Provider, s.Model = state.Provider, state.Model
	}
	if s.Locked {
		s.State = Running
	}
	return nil
}

// load folds a session.
func load(ctx context.Context, store journal.Store, id string) (*agent.State, error) {
	r, err := store.Read(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := agent.Load(ctx, r)
	return state, errors.Join(err, r.Close())
}

// stateOf returns the state of a session that no process has open.
func stateOf(s *agent.State) State {
	switch {
	case s.Input != nil:
		return Open
	case s.Last == nil:
		return New
	}
	switch r := s.Last.Reason; {
	case r == agent.ReasonAwaitingInput:
		return Waiting
	case r.Limit():
		return Limited
	case slices.Contains([]agent.Reason{agent.ReasonInterrupted, agent.ReasonAborted}, r):
		return Interrupted
	case slices.Contains([]agent.Reason{agent.ReasonCompleted, agent.ReasonDone}, r):
		return Done
	}
	return Failed
}
