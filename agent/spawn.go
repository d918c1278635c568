package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/tool"
)

// Spawn implements [tool.Agents].
func (a *subagents) Spawn(ctx context.Context, task tool.AgentTask) (tool.AgentStatus, error) {
	return a.spawn(ctx, task, "")
}

// spawn starts a child for a call. The record that names the child is durable before the child
// runs.
func (a *subagents) spawn(ctx context.Context, task tool.AgentTask, callID string) (tool.AgentStatus, error) {
	if strings.TrimSpace(task.Task) == "" {
		return tool.AgentStatus{}, errors.New("task is empty; say what the agent is to do")
	}
	id, err := a.reserve()
	if err != nil {
		return tool.AgentStatus{}, err
	}
	c, err := guard.Value("starting an agent", func() (*child, error) { return a.open(ctx, id, callID, task) })
	if err != nil {
		a.giveUp(id)
		a.parent.warnOfPanic(hostError(err))
		return tool.AgentStatus{}, err
	}
	if err = context.Cause(ctx); err == nil { // the agent of an ended call would have no owner
		err = a.parent.commitDurably(ctx, childRecord{ID: id, Event: childSpawned, Task: validText(task.Task),
			Model: c.session.state.Header.Model, Journal: c.session.ID(), Started: startedWith(c.task)})
	}
	if err == nil {
		err = a.enter(ctx, c, task.Task)
	}
	if err != nil {
		a.giveUp(id)
		return tool.AgentStatus{}, errors.Join(err, c.session.Close(), a.leave(c, true))
	}
	return tool.AgentStatus{ID: id, Status: childRunning}, nil
}

// A spawnOrder keeps the calls of an answer that start agents in order, so that the agents' ids are
// in the order of the calls.
type spawnOrder struct {
	before []*spawnOrder
	once   sync.Once
	over   chan struct{} // closed when the call has started its agent, or is over
}

func (t *spawnOrder) end() {
	if t != nil {
		t.once.Do(func() { close(t.over) })
	}
}

// queue gives each call of a round that starts an agent its spawnOrder.
func (a *subagents) queue(calls []*call) {
	if a == nil {
		return
	}
	registry := a.parent.tools()
	var turns []*spawnOrder
	for _, c := range calls {
		t, ok := registry.Get(c.Call.Name)
		if !ok || t.Needs != tool.NeedsAgents || c.Access.Effect != tool.Writes || c.Outcome != nil {
			continue
		}
		c.spawns = &spawnOrder{before: slices.Clone(turns), over: make(chan struct{})}
		turns = append(turns, c.spawns)
	}
}

// A spawner is the table for a call that has to wait for the agents of earlier calls.
type spawner struct {
	*subagents
	turn   *spawnOrder // nil for a call that is not expected to start any
	callID string
}

// Spawn waits for the agents of the calls before this one.
func (s *spawner) Spawn(ctx context.Context, task tool.AgentTask) (tool.AgentStatus, error) {
	if s.turn == nil {
		return s.spawn(ctx, task, s.callID)
	}
	for _, earlier := range s.turn.before {
		select {
		case <-earlier.over:
		case <-ctx.Done():
			return tool.AgentStatus{}, context.Cause(ctx)
		}
	}
	defer s.turn.end()
	return s.spawn(ctx, task, s.callID)
}

// reserve returns an id that no child of this session ever had.
func (a *subagents) reserve() (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return "", ErrClosed
	}
	if err := a.room(); err != nil {
		return "", err
	}
	a.count = max(a.count, a.highest()) + 1
	id := idPrefix + strconv.Itoa(a.count)
	a.byID[id] = nil
	return id, nil
}

const idPrefix = "agent-"

// highest returns the number of the newest id in the journal, which may be of an earlier run.
func (a *subagents) highest() int {
	a.parent.mu.Lock()
	defer a.parent.mu.Unlock()
	highest := 0
	for _, c := range a.parent.state.Children {
		if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, idPrefix)); err == nil {
			highest = max(highest, n)
		}
	}
	return highest
}

// room returns an error if no further child may work. It is called with the lock held.
func (a *subagents) room() error {
	running := 0
	for _, c := range a.byID {
		if c == nil || c.busy() {
			running++
		}
	}
	if running >= a.max {
		return fmt.Errorf("%d agents are working, which is the limit; wait for one of them first", running)
	}
	return nil
}

func (a *subagents) giveUp(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byID, id)
}
