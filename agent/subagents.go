package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Subagents allows a session to start agents. A subagent has the session's profile, client,
// environment, hooks and budget, a history and a registry of its own, and ends with the session at
// the latest. Its contexts have the values of the context of the call that gave it its task.
type Subagents struct {
	// Depth limits the levels of agents below the session: 1 unless set.
	Depth int
	// MaxRunning limits how many subagents of one session work at a time: 4 unless set.
	MaxRunning int
	// Journal creates the journal of a subagent by its session id, as [journal.Store].Create does.
	// Nil keeps none.
	Journal func(ctx context.Context, id string) (journal.Log, error)
	// Definitions are agents that can be chosen by their names, beside the general one that is like
	// the session. The tools that start agents list them for the model.
	Definitions []AgentDefinition
	// Isolate opens the surroundings of an agent whose task or definition has an Isolation, which
	// is in the task. The id is that of its session, and e the environment of the agent that starts
	// it. Nil means that all agents share the session's environment. Calls in the surroundings pass
	// the session's hooks and middleware like any others; [tool.Request].Dir tells them apart.
	Isolate func(ctx context.Context, id string, e env.Environment, task tool.AgentTask) (*Surroundings, error)
}

// Surroundings hold what an agent does not share with the session that has started it.
type Surroundings struct {
	Env env.Environment
	// Prompt is the environment in which its prompt is rendered. It can read more, such as the
	// whole repository. Nil means Env. Documents are those of the prompt.
	Prompt    env.Environment
	Documents instructions.Options
	// Instructions are added to its system prompt.
	Instructions string
	// Close is called once, when the agent has ended and nothing of it runs. What it returns is
	// added to the agent's report. Cut says that the agent was ended before it had one.
	Close func(cut bool) (told string)
}

const (
	defaultDepth      = 1
	defaultMaxRunning = 4
)

// spawns reports whether a session with these options may start agents.
func (o *Options) spawns() bool {
	return o.Subagents != nil && o.depth < cmp.Or(o.Subagents.Depth, defaultDepth)
}

// Child describes a subagent in the state of its parent.
type Child struct {
	ID      string // for the model
	Session string // the id of its session and journal
	Task    string
	// what it was started with, its definition included; journals of older versions have the Task
	// only
	Started tool.AgentTask
	Status  string // running until it has ended
	// Usage and Cost, in US dollars, are what it has spent as far as its parent knows.
	Usage llm.Usage
	Cost  float64
}

func (s *State) foldChild(r childRecord) {
	switch r.Event {
	case childSpawned:
		s.Children = append(s.Children, Child{ID: r.ID, Session: r.Journal, Task: r.Task, Started: r.started(),
			Status: childRunning})
	case childSpent:
		s.spend(r.Usage, r.Cost)
		if c := s.child(r.ID); c != nil {
			c.Usage, c.Cost = c.Usage.Add(r.Usage), c.Cost+r.Cost
		}
	case childEnded:
		if c := s.child(r.ID); c != nil {
			c.Status = r.Status
		}
	}
}

// child returns a subagent, nil if there is none with the id.
func (s *State) child(id string) *Child {
	i := slices.IndexFunc(s.Children, func(c Child) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Children[i]
}

// startedWith returns a task for the record of its agent, which has its text already.
func startedWith(task tool.AgentTask) *tool.AgentTask {
	task.Task, task.Instructions = "", validText(task.Instructions)
	return &task
}

// started returns the task that an agent was started with.
func (r *childRecord) started() (task tool.AgentTask) {
	if r.Started != nil {
		task = *r.Started
	}
	task.Task = r.Task
	return task
}

// The statuses of a subagent.
const (
	childRunning   = "running"
	childCompleted = "completed"
	childFailed    = "failed"
	childClosed    = "closed"
)

// subagents is the table of a session's agents. It implements [tool.Agents]; nil allows none. The
// table's lock is taken before a child's, and that before a session's.
type subagents struct {
	parent  *Session
	options Options // the parent's
	max     int
	life    context.Context // ends when all of them are to end
	endLife context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	byID   map[string]*child // nil while the child starts; ended children stay
	count  int               // the number of the newest id
	work   sync.WaitGroup
}

func newSubagents(s *Session, o Options) *subagents {
	if !o.spawns() {
		return nil
	}
	a := &subagents{parent: s, options: o, max: cmp.Or(o.Subagents.MaxRunning, defaultMaxRunning),
		byID: map[string]*child{}}
	a.life, a.endLife = context.WithCancelCause(context.Background())
	return a
}

// enter puts a child under its reserved id and starts its first input, so that each child in the
// table runs or has run.
func (a *subagents) enter(ctx context.Context, c *child, task string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	a.byID[c.id] = c
	if c.begin() {
		a.work.Go(func() { a.runInput(ctx, c, task) })
	}
	return nil
}

// resume starts another input of an idle child. It reports false if the child works.
func (a *subagents) resume(ctx context.Context, c *child, text string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.now().Status == childRunning {
		return false, nil
	}
	if a.closed || c.hasEnded() {
		return false, c.gone()
	}
	if err := a.room(); err != nil {
		return false, err
	}
	if !c.begin() {
		return false, c.gone()
	}
	a.work.Go(func() { a.runInput(ctx, c, text) })
	return true, nil
}

// runInput works on an input, and goes on for messages that came too late for it. The context is
// that of the call that gave the input. The child gets its values, such as the current span, but
// not its end, because a child outlives the call.
func (a *subagents) runInput(ctx context.Context, c *child, text string) {
	ctx = context.WithoutCancel(ctx)
	result, err := c.session.Submit(ctx, text)
	for {
		if errors.Is(err, ErrReleased) { // by a middleware of the parent's, whose model must not see a failure
			a.parent.disown(err)
		}
		a.parent.warnOfPanic(err)
		status := c.outcome(result, err)
		if err := a.account(c, status); err != nil {
			a.parent.events.emit(&Warning{Code: "subagent_not_recorded", Text: err.Error()})
		}
		if c.rest(status, result) {
			if c.alone != nil {
				_, _ = a.end(c) // whoever closes it gets the error
			}
			return
		}
		result, err = c.session.Continue(ctx)
	}
}

// account records what a child has spent since the last record, and its end if it has ended.
func (a *subagents) account(c *child, status string) error {
	records := a.spent(c)
	c.mu.Lock()
	ended := !c.recorded && c.hasEnded()
	c.recorded = c.recorded || ended
	c.mu.Unlock()
	if ended {
		records = append(records, childRecord{ID: c.id, Event: childEnded, Status: status})
	}
	return a.parent.commit(records...)
}

// spent returns what a child has spent since the last record. It is the difference of sums, because
// the child's own subagents may spend while it is idle.
func (a *subagents) spent(c *child) []record {
	c.mu.Lock() // for both, so that what is counted only rises
	now := look(c.session, (*State).totals)
	used, cost := now.usage.Sub(c.counted.usage), now.cost-c.counted.cost
	c.counted = now
	c.mu.Unlock()
	if used == (llm.Usage{}) && cost == 0 {
		return nil
	}
	return []record{childRecord{ID: c.id, Event: childSpent, Usage: used, Cost: cost}}
}

// hears passes an event of a child to the parent's host. It records the usage of each model call in
// the parent's journal before the next one, so that it survives a kill of the parent.
func (a *subagents) hears(c *child, ev Event) {
	a.parent.events.emit(&SubagentEvent{AgentID: c.id, CallID: c.callID, Event: ev})
	switch ev.(type) {
	case *StepEnd, *LLMRetry, *Compaction, *SubagentEvent:
		if err := a.parent.commit(a.spent(c)...); err != nil {
			a.parent.events.emit(&Warning{Code: "subagent_not_recorded", Text: err.Error()})
		}
	}
}

// Send implements [tool.Agents].
func (a *subagents) Send(ctx context.Context, id, message string) (tool.AgentStatus, error) {
	c, err := a.find(id)
	if err != nil {
		return tool.AgentStatus{}, err
	}
	if strings.TrimSpace(message) == "" {
		return tool.AgentStatus{}, errors.New("message is empty")
	}
	for done := false; !done; { // the child may begin or become idle in between
		if done, err = c.steer(ctx, message); !done && err == nil {
			done, err = a.resume(ctx, c, message)
		}
		if err != nil {
			return tool.AgentStatus{}, err
		}
	}
	return tool.AgentStatus{ID: id, Status: childRunning}, nil
}

// Wait implements [tool.Agents].
func (a *subagents) Wait(ctx context.Context, id string) (tool.AgentResult, error) {
	c, err := a.find(id)
	if err != nil {
		return tool.AgentResult{}, err
	}
	c.mu.Lock()
	idle := c.idle
	c.mu.Unlock()
	if c.alone != nil {
		idle = c.ended // the report is complete then
	}
	select {
	case <-idle:
	case <-ctx.Done():
		return tool.AgentResult{}, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := a.parent.givenAway(); err != nil && c.cut { // it was given away with the session
		return tool.AgentResult{}, err
	}
	return c.result, nil
}

// Close implements [tool.Agents].
func (a *subagents) Close(_ context.Context, id string) (tool.AgentStatus, error) {
	c, err := a.find(id)
	if err != nil {
		return tool.AgentStatus{}, err
	}
	return a.end(c)
}

// end closes a child and records that, once. Later calls wait and get the same result.
func (a *subagents) end(c *child) (tool.AgentStatus, error) {
	c.mu.Lock()
	first, idle := !c.closing, c.idle
	c.closing = true
	c.mu.Unlock()
	if !first {
		<-c.ended
		return c.now(), c.closed
	}
	defer close(c.ended)
	if why := a.parent.givenAway(); why != nil {
		c.session.disown(why)
		c.session.sever()
	}
	c.closed = c.session.Close()
	<-idle
	c.closed = errors.Join(c.closed, a.leave(c, c.cut))
	if c.closed = errors.Join(c.closed, a.account(c, c.now().Status)); a.parent.givenAway() != nil {
		c.closed = nil // the session is given away, so nothing is reported
	}
	return c.now(), c.closed
}

// leave closes the surroundings of a child that has its own, and adds what is told of them to the
// report.
func (a *subagents) leave(c *child, cut bool) error {
	if c.alone == nil {
		return nil
	}
	told, err := host(a.life, a.parent, "Surroundings.Close", journalPatience*a.parent.killGrace,
		func() (string, error) { return c.alone.Close(cut), nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.result.Output = strings.TrimSpace(c.result.Output + "\n\n" + told)
	return err
}

func (a *subagents) find(id string) (*child, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.byID[id]; c != nil {
		return c, nil
	}
	a.parent.mu.Lock()
	defer a.parent.mu.Unlock()
	var ids []string
	for _, known := range a.parent.state.Children {
		if known.ID == id {
			return nil, fmt.Errorf("agent %s belonged to an earlier run of this session and ended with it; spawn "+
				"another one", id)
		}
		ids = append(ids, known.ID)
	}
	if ids == nil {
		return nil, fmt.Errorf("there is no agent %q; none was started, so start one first", id)
	}
	return nil, fmt.Errorf("there is no agent %q; the ids are %s", id, strings.Join(ids, ", "))
}

// close ends all children, side by side. No more can be started.
func (a *subagents) close() error {
	if a == nil {
		return nil
	}
	a.endLife(errAbort) // before the locks, whose holder may be waiting for a journal that does not return
	a.mu.Lock()
	a.closed = true
	var all []*child
	for _, c := range a.byID {
		if c != nil {
			all = append(all, c)
		}
	}
	a.mu.Unlock()
	errs := make([]error, len(all))
	var ending sync.WaitGroup
	for i, c := range all {
		ending.Go(func() { _, errs[i] = a.end(c) })
	}
	ending.Wait()
	a.work.Wait()
	return errors.Join(errs...)
}
