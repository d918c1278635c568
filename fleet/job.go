package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/journal"
)

// Job is a task that a worker has claimed.
type Job struct {
	Task Task
	// Space is that of the task's tenant. The session's id is the task's.
	Space *Space
	// Journal is the log of the session, opened for this worker. Resumes reports whether it has
	// records: the session is resumed then. Store is a store in which this log is open under the id
	// of the task, for hosts that open it themselves.
	Journal journal.Log
	Resumes bool
	Store   journal.Store
	// Workspace is where the task works.
	Workspace Workspace

	worker *running
	claim  Claim
	gate   *gate
	ledger agent.Ledger // of the tenant; nil without a budget
	log    *slog.Logger
	live   *publisher

	attached atomic.Bool

	// owned ends when the task was given back or is lost; the claim is extended until then. hold
	// ends with owned, and when the session has to be cut off at once. stop ends with hold, and
	// when the session has to end in order. The causes of hold and stop say why.
	owned, hold, stop context.Context
	disown            context.CancelFunc
	endHold, endStop  context.CancelCauseFunc

	state *agent.State // of the journal when it was opened; nil once the session has it
	was   was          // what the journal said

	session  atomic.Pointer[agent.Session]
	updating sync.Mutex // held by whoever writes the status

	mu      sync.Mutex
	status  Status
	asking  int       // asks that wait for an answer
	failing time.Time // when the first of the model's failures since its last answer was

	pointing chan struct{} // held by whoever records the workspace
	point    *WorkspacePoint
}

// The causes for which a job ends before its session does.
var (
	errDrained     = errors.New("fleet: the worker gives its tasks away")
	errCanceled    = errors.New("fleet: the task was canceled")
	errInterrupted = errors.New("fleet: the task was interrupted")
	errDeadline    = errors.New("the task has come to its deadline")
)

// newJob returns a job for a claim.
func newJob(r *running, s *Space, t Tenant, claim Claim) *Job {
	j := &Job{Task: claim.Task(), Space: s, worker: r, claim: claim, gate: &gate{lease: r.lease},
		status: claim.Status(), pointing: make(chan struct{}, 1)}
	j.gate.extend(time.Now().Add(r.TTL)) // run extends the claim at once
	j.log = r.Logger.With("task", j.Task.ID, "tenant", t.Name, "worker", r.Name)
	if budget := t.Budget.Agent(); budget != (agent.Budget{}) {
		j.ledger = r.Engine.Ledger("tenant/"+t.Name, budget)
	}
	j.owned, j.disown = context.WithCancel(r.life)
	j.hold, j.endHold = context.WithCancelCause(j.owned)
	j.stop, j.endStop = context.WithCancelCause(j.hold)
	return j
}

// An outcome says what becomes of a task when its job ends.
type outcome struct {
	state  State
	reason string
	result *agent.Result
	due    time.Time // for Paused and Queued
	fails  bool      // it counts as a failure to go on

	artifacts []Artifact
	missing   string // why artifacts are missing
	verdict   *Verdict
}

// run works on the task until it ends, or is given back.
func (j *Job) run() {
	j.log.Info("task claimed", "attempt", j.status.Attempt)
	// When the claim was made is unknown: at some time while the worker waited for it. After this
	// call its end is known.
	j.extend()
	drained := context.AfterFunc(j.worker.claiming, func() { j.endStop(errDrained) })
	var keeper sync.WaitGroup
	keeper.Go(j.keepClaim)
	out, closeWorkspace := j.work()
	j.settle(out)
	drained()
	j.gate.close()
	j.endHold(nil)
	j.disown()
	keeper.Wait()
	closeWorkspace()
}

// lose ends the job and writes nothing more, because another worker has the task.
func (j *Job) lose() {
	j.gate.close()
	j.endHold(ErrLost)
	j.disown()
}

// keepClaim extends the claim as long as the task is this worker's.
func (j *Job) keepClaim() {
	for pause(j.owned, j.worker.TTL/3) {
		if !j.gate.open() {
			j.lose()
			return
		}
		j.extend()
	}
}

// extend extends the claim once. It retries after errors for as long as the gate is open.
func (j *Job) extend() {
	for j.owned.Err() == nil && j.gate.open() {
		began := time.Now()
		ctx, cancel := context.WithDeadline(j.owned, j.gate.end())
		err := j.claim.Extend(ctx)
		cancel()
		switch {
		case err == nil:
			j.gate.extend(began.Add(j.worker.TTL))
			if j.claim.Canceled() {
				j.endStop(errCanceled)
			}
			return
		case errors.Is(err, ErrLost):
			j.lose()
			return
		case j.owned.Err() == nil:
			j.log.Warn("claim not extended", "error", err)
			pause(j.owned, j.worker.TTL/20)
		}
	}
}

// work works on the task until it ends, or cannot go on here. The caller calls closeWorkspace after
// it has written the outcome.
func (j *Job) work() (out outcome, closeWorkspace func()) {
	closeWorkspace = func() {}
	j.markSurvivors()
	if o := j.ended(); o != nil {
		return *o, closeWorkspace
	}
	if err := j.openJournal(); err != nil {
		return j.stopped(err), closeWorkspace
	}
	defer func() {
		if err := j.Journal.Close(); err != nil {
			j.log.Debug("journal not closed", "error", err)
		}
	}()
	if o := j.recordDeath(); o != nil {
		return *o, closeWorkspace
	}
	if err := j.openWorkspace(); err != nil {
		return j.stopped(fmt.Errorf("the workspace: %w", err)), closeWorkspace
	}
	out = j.converse()
	if !out.state.Final() {
		return out, j.closeWorkspace
	}
	out.artifacts, out.missing = j.collect()
	if j.Task.Eval != nil && out.state == Done && out.result != nil {
		out.verdict = j.judge(out.result.Text)
		if cause := j.cause(); errors.Is(cause, errDrained) || errors.Is(cause, ErrLost) { // the next owner judges
			return j.stopped(cause), j.closeWorkspace
		}
	}
	return out, j.closeWorkspace
}

// ended returns the outcome of a task that has ended before anything of it was opened.
func (j *Job) ended() *outcome {
	if j.claim.Canceled() {
		return &outcome{state: Canceled}
	}
	if o := j.poisoned(j.worker.MaxDeaths + 1); o != nil { // reading its journal may be what ends workers
		return o
	}
	if d := j.Task.Deadline; !d.IsZero() && !time.Now().Before(d) {
		return &outcome{state: Failed, reason: errDeadline.Error()}
	}
	return nil
}

// openJournal opens the session's journal and takes it over from its last writer.
func (j *Job) openJournal() error {
	journals, id := j.Space.Journals, j.Task.ID
	if !j.gate.open() { // opening a journal takes it from its writer, who may be the next owner by now
		j.lose()
		return ErrLost
	}
	log, err := journals.Open(j.hold, id)
	if errors.Is(err, fs.ErrNotExist) {
		if log, err = journals.Create(j.hold, id); errors.Is(err, fs.ErrExist) {
			log, err = journals.Open(j.hold, id)
		}
	}
	if err != nil {
		return fmt.Errorf("the journal: %w", err)
	}
	gated := j.gate.log(log)
	j.Journal, j.Resumes = gated, log.Len() > 0
	j.Store = &jobStore{Store: journals, job: j}
	if !j.Resumes {
		return nil
	}
	if j.state, err = agent.Load(j.hold, gated); err != nil {
		err = fmt.Errorf("the journal: %w", err)
		if errors.Is(err, journal.ErrCorrupt) {
			err = &PermanentError{err}
		}
	}
	if err != nil {
		return err
	}
	j.was = wasOf(j.state)
	j.point, err = notedPoint(j.state)
	return err
}

// openWorkspace makes the workspace, as the session noted it last.
func (j *Job) openWorkspace() error {
	ctx, cancel := j.orderly()
	defer cancel()
	return careful("Workspaces.Open", func() (err error) {
		j.Workspace, err = j.worker.Workspaces.Open(ctx, j.Task, j.Space.Objects, j.point)
		return err
	})
}

// careful calls code of the host. If it panics, the task has failed, and the worker's other tasks
// go on. Nothing bounds how long it takes: code that ignores the end of its context holds a slot of
// the worker, and the worker's end, until it returns.
func careful(what string, code func() error) error {
	err := guard.Run(what, code)
	if _, ok := errors.AsType[*guard.Panic](err); ok {
		return &PermanentError{err}
	}
	return err
}

// orderly returns a context that ends when the job has to stop, for any reason, or at the deadline.
func (j *Job) orderly() (context.Context, context.CancelFunc) {
	if j.Task.Deadline.IsZero() {
		return context.WithCancel(j.stop)
	}
	return context.WithDeadlineCause(j.stop, j.Task.Deadline, errDeadline)
}

func (j *Job) closeWorkspace() {
	if err := careful("Workspace.Close", j.Workspace.Close); err != nil {
		j.log.Warn("workspace not closed", "error", err)
	}
}

// cause returns why the job ends before its session does, or nil.
func (j *Job) cause() error {
	if j.hold.Err() != nil {
		return context.Cause(j.hold)
	}
	return context.Cause(j.stop)
}

// stopped returns the outcome of a job that was stopped by an error.
func (j *Job) stopped(err error) outcome {
	cause := j.cause()
	permanent, isPermanent := errors.AsType[*PermanentError](errors.Join(cause, err))
	var paused *outageError
	switch {
	case errors.Is(cause, ErrLost):
		return outcome{}
	case errors.As(cause, &paused):
		return outcome{state: Paused, reason: paused.Error(), due: paused.until}
	case errors.Is(cause, errCanceled):
		return outcome{state: Canceled}
	case errors.Is(cause, errDrained):
		return outcome{state: Queued}
	case errors.Is(err, errDeadline), errors.Is(cause, errDeadline):
		return outcome{state: Failed, reason: errDeadline.Error()}
	}
	switch ended := j.ended(); { // the deadline may have come, or the cancel, before the contexts know
	case ended != nil:
		return *ended
	case isPermanent:
		return outcome{state: Failed, reason: permanent.Error()}
	case cause != nil:
		err = cause
	}
	return j.again(err)
}

// mostFailures bounds how often in a row a task is tried after errors that may pass.
const mostFailures = 10

// again returns the outcome of a job that failed for a reason that may pass: the task is paused and
// tried again later, mostFailures times in all.
func (j *Job) again(err error) outcome {
	j.log.Warn("task cannot go on", "error", err)
	failures := j.current().Failures + 1
	if failures >= mostFailures {
		return outcome{state: Failed, reason: fmt.Sprintf("%v (tried %d times)", err, failures)}
	}
	return outcome{state: Paused, reason: err.Error(), due: time.Now().Add(backoff(j.worker.TTL/2, failures)),
		fails: true}
}

// longestPause bounds the time between two attempts.
const longestPause = 5 * time.Minute

// backoff returns the time before another attempt: unit, and twice as long after each further
// failure.
func backoff(unit time.Duration, failures int) time.Duration {
	d := unit
	for range failures - 1 {
		if d *= 2; d > longestPause {
			return max(unit, longestPause)
		}
	}
	return d
}

// current returns the status.
func (j *Job) current() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.status
}

// update changes the status, and writes it if change reports true. If that fails, the next update
// writes it.
func (j *Job) update(change func(s *Status) bool) {
	j.updating.Lock()
	defer j.updating.Unlock()
	j.mu.Lock()
	changed := change(&j.status)
	s := j.status
	j.mu.Unlock()
	if !changed || j.hold.Err() != nil {
		return
	}
	ctx, cancel := context.WithDeadline(j.hold, j.gate.end())
	defer cancel()
	switch err := j.claim.Update(ctx, s); {
	case errors.Is(err, ErrLost):
		j.lose()
	case err != nil:
		j.log.Warn("status not written", "error", err)
	}
}

// settle writes what became of the task, unless it is somebody else's.
func (j *Job) settle(out outcome) {
	if out.state == "" || errors.Is(context.Cause(j.hold), ErrLost) {
		j.log.Warn("task lost")
		return
	}
	s := j.current()
	s.State, s.Reason, s.NotBefore, s.Waits = out.state, cutText(out.reason, mostReason), out.due, false
	if d := j.Task.Deadline; !d.IsZero() && s.NotBefore.After(d) {
		s.NotBefore = d // somebody has to claim the task at its deadline, to let it fail
	}
	if out.fails {
		s.Failures++
	}
	write, what := j.claim.Return, "task given back"
	if out.state.Final() {
		s.Result, s.Artifacts, s.Ended = shortResult(out.result), out.artifacts, time.Now().UTC()
		s.Verdict = out.verdict
		if s.Reason == "" {
			s.Reason = out.missing
		}
		write, what = j.claim.Finish, "task ended"
		j.persist("asks not removed", func(ctx context.Context) error { return j.Space.Asks.Remove(ctx, j.Task.ID) })
	}
	if j.persist("status not written", func(ctx context.Context) error { return write(ctx, s) }) == nil {
		j.log.Info(what, "state", s.State, "reason", s.Reason)
	}
}

// The bounds of texts in a status, in bytes, so that it fits into one message of any engine. The
// journal has the whole texts.
const (
	mostReason = 4 << 10
	mostResult = 64 << 10
)

// cutText returns the first bytes of a text, and says so if there are more.
func cutText(text string, most int) string {
	return texts.Cut(text, most, "... [cut: the session's journal has the whole text]")
}

// shortResult returns a result that fits into a status.
func shortResult(r *agent.Result) *agent.Result {
	if r == nil {
		return nil
	}
	short := *r
	short.Text = cutText(r.Text, mostResult)
	return &short
}

// persistTime bounds how long an operation of the engine is retried. A task whose end cannot be
// written goes to another worker.
const persistTime = 2 * time.Minute

// persist calls an operation of the engine until it succeeds, or its error is permanent, or this
// worker may have no effect any more.
func (j *Job) persist(what string, op func(ctx context.Context) error) error {
	for began := time.Now(); ; {
		if err := j.gate.check(); err != nil {
			j.log.Warn(what, "error", err)
			return err
		}
		err := op(j.worker.life)
		_, permanent := errors.AsType[*PermanentError](err)
		switch {
		case err == nil:
			return nil
		case permanent, errors.Is(err, ErrLost), errors.Is(err, fs.ErrInvalid), !j.gate.open(),
			j.worker.life.Err() != nil, time.Since(began) > persistTime:
			j.log.Warn(what, "error", err)
			return err
		}
		j.log.Debug(what, "error", err)
		if !pause(j.worker.life, j.worker.TTL/20) {
			return err
		}
	}
}

// jobStore is a store in which the log of a job's session is open. It lists nothing but that
// session.
type jobStore struct {
	journal.Store
	job *Job
}

// Create implements [journal.Store].
func (s *jobStore) Create(ctx context.Context, id string) (journal.Log, error) {
	switch {
	case id != s.job.Task.ID:
		return s.Store.Create(ctx, id)
	case s.job.Resumes:
		return nil, fmt.Errorf("the session %s: %w", id, fs.ErrExist)
	}
	return s.job.Journal, nil
}

// Open implements [journal.Store].
func (s *jobStore) Open(ctx context.Context, id string) (journal.Log, error) {
	if id != s.job.Task.ID {
		return s.Store.Open(ctx, id)
	}
	return s.job.Journal, nil
}

// List implements [journal.Store].
func (s *jobStore) List(context.Context) ([]journal.Entry, error) {
	return []journal.Entry{{ID: s.job.Task.ID, Modified: time.Now()}}, nil
}
