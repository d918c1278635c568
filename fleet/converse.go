package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// converse opens the session, works on it to its end, and ends it.
func (j *Job) converse() outcome {
	ctx, cancel := j.orderly()
	defer cancel()
	j.live = newPublisher(j.Space.Bus, j.Task.ID, j.Journal)
	defer j.live.close()
	hosted, err := j.open(ctx)
	if err != nil {
		return j.stopped(fmt.Errorf("the session: %w", err))
	}
	defer j.closeHosted(hosted)
	stopServing, err := j.serve()
	if err != nil { // the session goes on without those who want to steer it
		j.log.Warn("session not served", "error", err)
	}
	defer stopServing()
	result, err := j.drive(hosted)
	return j.concluded(result, err)
}

// completed reports whether an input has come to a good end.
func completed(why agent.Reason) bool { return why == agent.ReasonCompleted || why == agent.ReasonDone }

// resultOf returns the result of a whole session.
func resultOf(s *agent.State) *agent.Result {
	if s.Last == nil {
		return nil
	}
	return &agent.Result{Text: s.Last.Final, Reason: s.Last.Reason, Finish: s.Last.Finish, Usage: s.Usage,
		CostUSD: s.Cost, Turns: s.Steps, ToolRounds: s.Rounds}
}

// open lets the host open the session.
func (j *Job) open(ctx context.Context) (Hosted, error) {
	var hosted Hosted
	err := careful("Host", func() (err error) { hosted, err = j.worker.Host(ctx, j); return err })
	if err == nil && hosted.Session == nil {
		err = &PermanentError{errors.New("the host has opened no session")}
	}
	if err != nil {
		return hosted, err
	}
	if !j.attached.Load() { // without the gate, the session could have effects after another worker took the task
		err := errors.Join(errors.New("the host has not called Job.Attach with the options of the session"),
			j.cut(hosted.Session))
		j.closeHosted(hosted)
		return Hosted{}, &PermanentError{err}
	}
	j.session.Store(hosted.Session)
	return hosted, nil
}

// cut ends a session at once, without a record of its end, as a kill would.
func (j *Job) cut(s *agent.Session) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.Release(ctx)
}

func (j *Job) closeHosted(h Hosted) {
	if h.Close == nil {
		return
	}
	if err := careful("Hosted.Close", h.Close); err != nil {
		j.log.Warn("host not closed", "error", err)
	}
}

// drive works on the session until it has its result, and ends it.
func (j *Job) drive(h Hosted) (*agent.Result, error) {
	type ending struct {
		result *agent.Result
		err    error
	}
	watch, cancel := j.orderly()
	defer cancel()
	ended := make(chan ending, 1)
	go func() {
		var e ending
		e.err = careful("Session.Submit or Hosted.Verify",
			func() (err error) { e.result, err = j.submit(watch, h); return err })
		ended <- e
	}()
	select {
	case e := <-ended:
		return j.endSession(h.Session, e.result, e.err)
	case <-watch.Done():
	}
	if j.hold.Err() == nil && !errors.Is(context.Cause(watch), errDrained) {
		h.Session.Interrupt()
		inOrder := time.NewTimer(j.worker.Grace)
		defer inOrder.Stop()
		select {
		case e := <-ended:
			cause := context.Cause(watch)
			// the session had come to its end, and that does not count
			if failed, ok := errors.AsType[*unverifiedError](e.err); ok {
				cause = failed
			}
			return j.endSession(h.Session, e.result, cause)
		case <-j.hold.Done():
		case <-inOrder.C: // something does not end, such as the recording of the workspace
			j.endHold(context.Cause(watch))
		}
	}
	grace, release := context.WithTimeout(j.hold, j.worker.Grace)
	defer release()
	if err := h.Session.Release(grace); err != nil {
		j.log.Debug("session released", "error", err)
	}
	e := <-ended
	switch {
	case j.hold.Err() != nil:
		return nil, context.Cause(j.hold)
	case e.err == nil: // it came to its end meanwhile
		return e.result, nil
	}
	return nil, context.Cause(watch)
}

// endSession ends a session that is at rest, or leaves it open for its next owner.
func (j *Job) endSession(s *agent.Session, result *agent.Result, err error) (*agent.Result, error) {
	for _, goesOn := range []error{agent.ErrReleased, agent.ErrTakenOver, errDrained, ErrLost} {
		if errors.Is(err, goesOn) {
			return nil, errors.Join(err, j.cut(s))
		}
	}
	if err != nil && (llm.Retryable(err) || j.hold.Err() != nil) {
		return nil, errors.Join(err, j.cut(s))
	}
	if closed := s.Close(); closed != nil && err == nil {
		j.log.Warn("session not closed", "error", closed)
	}
	return result, err
}

// submit begins the task's input, or goes on with it, until it has its result. Questions are
// answered on the way.
func (j *Job) submit(ctx context.Context, h Hosted) (*agent.Result, error) {
	if j.point == nil { // every owner begins with the workspace as it was made
		if err := j.notePoint(); err != nil {
			return nil, err
		}
	}
	result, err := j.begin(h)
	for err == nil && result.Reason == agent.ReasonAwaitingInput {
		answered, failed := j.answerQuestion(ctx, h.Session)
		if failed != nil || !answered {
			return result, failed
		}
		result, err = h.Session.Continue(context.WithoutCancel(ctx))
	}
	if err == nil && h.Verify != nil && completed(result.Reason) {
		if failed := h.Verify(ctx, result); failed != nil {
			err = &unverifiedError{failed}
		}
	}
	return result, err
}

// unverifiedError says why a task has failed whose session came to a good end.
type unverifiedError struct{ error }

// begin takes the first steps of this owner. Its context does not end, because that would be an
// interrupt: drive ends the session.
func (j *Job) begin(h Hosted) (*agent.Result, error) {
	ctx := context.WithoutCancel(j.hold)
	switch {
	case j.was.asks:
		return &agent.Result{Reason: agent.ReasonAwaitingInput}, nil
	case j.was.over:
		return h.Session.Result(), j.was.failed
	case j.was.begun:
		return h.Session.Continue(ctx)
	}
	return h.Session.Submit(ctx, j.Task.Prompt)
}

// concluded returns the outcome of what drive returned.
func (j *Job) concluded(result *agent.Result, err error) outcome {
	fault, isFault := errors.AsType[*llm.Error](err)
	_, panicked := errors.AsType[*agent.HostError](err)
	_, unverified := errors.AsType[*unverifiedError](err)
	failed := isFault && !llm.Retryable(fault) || panicked || unverified || errors.Is(err, agent.ErrFull)
	interrupted := errors.Is(err, errInterrupted) || errors.Is(j.cause(), errInterrupted)
	switch {
	case err == nil, errors.Is(err, errInterrupted) && result != nil:
		return outcome{state: Done, result: j.whole(result)}
	case interrupted && (!failed || errors.Is(err, llm.ErrAborted)):
		// The session was cut off, or stopped at an error that may pass. Whoever interrupted the
		// task was told that it ends.
		return outcome{state: Done, result: j.cutOff()}
	case j.cause() != nil && !interrupted, errors.Is(err, errDeadline):
		out := j.stopped(err)
		if out.state.Final() {
			out.result = j.whole(result)
		}
		return out
	case isFault && llm.Retryable(fault):
		return j.outageOr(fault)
	case failed:
		return outcome{state: Failed, reason: err.Error(), result: j.whole(result)}
	}
	return j.stopped(err)
}

// cutOff returns the result of a session that was interrupted and has none: what there was,
// whatever its journal says about the end.
func (j *Job) cutOff() *agent.Result {
	result := agent.Result{}
	if last := j.whole(nil); last != nil {
		result = *last
	}
	result.Reason = agent.ReasonInterrupted
	return &result
}

// whole returns the result with the usage of all owners, or the given one if the journal cannot be
// read.
func (j *Job) whole(result *agent.Result) *agent.Result {
	log, err := j.Space.Journals.Read(j.worker.life, j.Task.ID)
	if err != nil {
		j.log.Debug("sums unknown", "error", err)
		return result
	}
	defer func() {
		if err := log.Close(); err != nil {
			j.log.Debug("journal not closed", "error", err)
		}
	}()
	state, err := agent.Load(j.worker.life, log)
	if err != nil || state.Last == nil {
		return result
	}
	return resultOf(state)
}

// notedPoint returns the point of the workspace that a session noted last, or nil.
func notedPoint(s *agent.State) (*WorkspacePoint, error) {
	note, ok := s.Notes[WorkspaceNote]
	if !ok {
		return nil, nil
	}
	point := new(WorkspacePoint)
	if err := json.Unmarshal(note.Data, point); err != nil {
		return nil, &PermanentError{fmt.Errorf("the session's note of the workspace cannot be read: %w", err)}
	}
	return point, nil
}

// was holds what the journal said about the session when this worker opened it.
type was struct {
	begun  bool  // it has an input
	over   bool  // that has ended, and there is nothing more to do
	failed error // why the input has failed
	asks   bool  // it waits for the answer to a question
}

// wasOf returns what a journal's state says. The session changes the state later.
func wasOf(s *agent.State) was {
	w := was{begun: s.Input != nil || s.Last != nil, asks: s.Input == nil && questionOf(s) != nil}
	if s.Last == nil || agent.Next(s, time.Now()).Act != agent.ActRest {
		return w
	}
	switch s.Last.Reason {
	case agent.ReasonAwaitingInput, agent.ReasonAborted, agent.ReasonClosed:
	case agent.ReasonFailed:
		if s.Last.Fault != nil && !s.Last.Fault.Retryable {
			w.over, w.failed = true, s.Last.Fault.Err()
		}
	default:
		w.over = true
	}
	return w
}
