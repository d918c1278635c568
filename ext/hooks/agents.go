package hooks

import (
	"cmp"
	"context"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// agentInfo describes a subagent to hooks. The id is that of the call that started it.
type agentInfo struct{ id, kind string }

// agentKey is the key of an agentInfo in a context. The contexts of a subagent have the values of
// the call that gave it its task.
type agentKey struct{}

// agentOf returns the subagent in whose session something happens. id is what its parent calls it,
// or empty for the host's own session.
func (h *Hooks) agentOf(ctx context.Context, id string) agentInfo {
	if id == "" {
		return agentInfo{}
	}
	if known, ok := ctx.Value(agentKey{}).(agentInfo); ok {
		return known
	}
	return agentInfo{id, generalAgent}
}

// session wraps the session of a call, to tell the hooks of the agents that the call starts.
type session struct {
	tool.Session
	hooks *Hooks
	call  *tool.Call
}

// Agents implements tool.Session.
func (s *session) Agents() tool.Agents {
	all := s.Session.Agents()
	if all == nil {
		return nil
	}
	return &agents{all, s}
}

type agents struct {
	tool.Agents
	*session
}

// Spawn implements tool.Agents. What the hooks for SubagentStart say is added to the agent's
// instructions.
func (a *agents) Spawn(ctx context.Context, task tool.AgentTask) (tool.AgentStatus, error) {
	h := a.hooks
	info := agentInfo{a.call.ID, cmp.Or(task.Agent, generalAgent)}
	if h.Has(SubagentStart) {
		said, err := h.ask(ctx, occasion{event: SubagentStart, names: []string{info.kind}, session: a.call.SessionID,
			agent: info})
		if err != nil {
			return tool.AgentStatus{}, err
		}
		task.Instructions = strings.TrimSpace(task.Instructions + "\n\n" + strings.Join(said.context, "\n\n"))
	}
	status, err := a.Agents.Spawn(context.WithValue(ctx, agentKey{}, info), task)
	if err == nil {
		h.mu.Lock()
		h.agents[a.call.SessionID+" "+status.ID] = info
		h.mu.Unlock()
	}
	return status, err
}

// Send implements tool.Agents.
func (a *agents) Send(ctx context.Context, id, message string) (tool.AgentStatus, error) {
	a.hooks.mu.Lock()
	info, known := a.hooks.agents[a.call.SessionID+" "+id]
	a.hooks.mu.Unlock()
	if !known {
		info = agentInfo{id, generalAgent}
	}
	return a.Agents.Send(context.WithValue(ctx, agentKey{}, info), id, message)
}
