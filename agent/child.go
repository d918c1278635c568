package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/tool"
)

// A child is a subagent.
type child struct {
	id      string
	callID  string // of the call that started it
	session *Session
	task    tool.AgentTask // with what its definition adds
	alone   *Surroundings  // that it shares with nobody; nil if it shares the session's

	closed error         // from the session's Close
	ended  chan struct{} // closed when closed is set

	mu       sync.Mutex
	idle     chan struct{} // closed when no input runs
	result   tool.AgentResult
	cut      bool // the input was cut off
	status   string
	closing  bool   // no further input may begin
	counted  totals // what the parent has recorded of the session
	recorded bool   // its end is recorded
}

// open returns a child with its session.
func (a *subagents) open(ctx context.Context, id, callID string, task tool.AgentTask) (*child, error) {
	o := a.options
	c := &child{id: id, callID: callID, status: childRunning, ended: make(chan struct{})}
	def, err := a.definition(task.Agent)
	if err != nil {
		return nil, err
	}
	p := a.parent
	o.Policy = p.Policy()
	if o.CacheLifetime == CacheForPerson { // nobody talks to a subagent
		o.CacheLifetime = CacheByPauses
	}
	err = look(p, func(st *State) error { return o.ask(&def, &task, st) })
	if err == nil {
		err = o.equip(&def, task.Tools, p.Tools())
	}
	if err != nil {
		return nil, err
	}
	o.parent, o.agentID, o.depth = p, id, o.depth+1
	o.ID = o.newID()
	o.MaxTurns = cmp.Or(task.MaxTurns, def.MaxTurns, o.MaxTurns)
	o.Dir = ""
	o.System, o.History, o.Result, o.BeforeInput, o.Questions, o.RequireDone = "", nil, nil, nil, nil, false
	o.Journal, o.Closers = nil, nil                              // the child has its own, or none
	o.OnEvent, o.Logger = func(ev Event) { a.hears(c, ev) }, nil // the parent's logger gets the child's events
	task.Isolation = cmp.Or(task.Isolation, def.Isolation)
	if c.alone, err = o.isolate(ctx, task); err != nil {
		return nil, err
	}
	o.instruct(def.Instructions, task.Instructions)
	if c.alone != nil {
		err = inside(o.Env.WorkDir(), task.Dir)
	}
	if err == nil {
		err = o.place(ctx, task.Dir)
	}
	if err == nil {
		c.session, err = newChild(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, a.leave(c, true))
	}
	task.Instructions = strings.TrimSpace(def.Instructions + "\n\n" + task.Instructions)
	task.Tools, task.Model, task.Effort, task.MaxTurns = c.session.registry.Names(), o.Model, o.Effort, o.MaxTurns
	c.task = task
	return c, nil
}

const childInstructions = "You work for another agent, which gave you one part of its task. Nobody can answer " +
	"questions. Your last message is all that it gets from you: say what you did, what you found out, and what is left."

// newChild returns a child, with its journal open under the id of its session.
func newChild(ctx context.Context, o Options) (*Session, error) {
	if create := o.Subagents.Journal; create != nil {
		log, err := create(ctx, o.ID)
		if err != nil {
			return nil, fmt.Errorf("cannot keep the agent's session: %w", err)
		}
		o.Journal = log
	}
	s, err := New(ctx, o)
	if err != nil && o.Journal != nil {
		err = errors.Join(err, o.Journal.Close())
	}
	return s, err
}

// begin marks a child as working, unless it is closing. It is called with the table's lock held.
func (c *child) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.alone != nil && c.idle != nil { // which works on one task
		return false
	}
	c.status, c.idle = childRunning, make(chan struct{})
	return true
}

func (c *child) now() tool.AgentStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return tool.AgentStatus{ID: c.id, Status: c.status}
}

// busy reports whether a child works, or is about to leave its own surroundings.
func (c *child) busy() bool {
	select {
	case <-c.ended:
		return false
	default:
		return c.alone != nil || c.now().Status == childRunning
	}
}

// hasEnded reports whether the session is closed or closing.
func (c *child) hasEnded() bool { return c.session.reason() != "" }

func (c *child) gone() error { return fmt.Errorf("agent %s has ended; spawn another one", c.id) }

// steer sends a message to a working child. It reports false if the child does not work. rest looks
// for such messages.
func (c *child) steer(ctx context.Context, message string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != childRunning {
		return false, nil
	}
	err := c.session.Steer(ctx, message)
	if errors.Is(err, ErrClosed) {
		err = c.gone()
	}
	return err == nil, err
}

// outcome keeps the outcome of an input.
func (c *child) outcome(result *Result, err error) (status string) {
	turns := look(c.session, (*State).totals).turns
	c.mu.Lock()
	defer c.mu.Unlock()
	said, why := result.Text, ""
	c.cut = errors.Is(err, ErrClosed) || errors.Is(err, ErrAborted) || errors.Is(err, ErrReleased) ||
		errors.Is(err, ErrTakenOver)
	switch {
	case errors.Is(err, ErrClosed) || errors.Is(err, ErrAborted):
		status, why = childClosed, "The agent was closed before it had finished."
	case err != nil:
		status, why = childFailed, "The agent failed: "+err.Error()
	case !result.Reason.isDone():
		status, why = childFailed, fmt.Sprintf("The agent was stopped before it had finished: %s.", result.Reason)
	default:
		status = childCompleted
	}
	c.result = tool.AgentResult{Output: strings.TrimSpace(said + "\n\n" + why), Success: status == childCompleted,
		TurnsUsed: turns}
	return status
}

// isDone reports whether the task is done for the model.
func (r Reason) isDone() bool { return r == ReasonCompleted || r == ReasonDone }

// rest marks a child as idle. It reports false if a message came after the last model call, which
// needs another input. After a limit it does not, since the next input may end at once.
func (c *child) rest(status string, result *Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	goesOn := false
	switch result.Reason {
	case ReasonCompleted, ReasonDone, ReasonMaxToolRounds, ReasonIncomplete, ReasonRefused:
		goesOn = true
	}
	if goesOn && c.session.steered() {
		return false
	}
	c.status = status
	close(c.idle)
	return true
}

// steered reports whether steering waits in an open session.
func (s *Session) steered() bool {
	return look(s, func(st *State) bool { return s.ending.reason == "" && st.Queued(LaneSteering) != nil })
}
