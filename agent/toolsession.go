package agent

import (
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// toolSession is the [tool.Session] of a call.
type toolSession struct {
	*Session
	call *call
}

func (t *toolSession) Outputs() tool.Outputs { return t.outputs }

func (t *toolSession) History() tool.History { return t.archive }

func (t *toolSession) Processes() tool.Processes { return t.processes }

func (t *toolSession) Agents() tool.Agents {
	switch {
	case t.agents == nil:
		return nil
	case t.call == nil:
		return t.agents
	}
	return &spawner{t.agents, t.call.spawns, t.call.Call.ID}
}

// Files implements [tool.Session].
func (t *toolSession) Files() tool.Files { return t }

// Seen implements [tool.Files].
func (t *toolSession) Seen(path string) (h env.Hash, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok = t.state.Seen[path]
	return h, ok
}

// Notes implements [tool.Session].
func (t *toolSession) Notes() map[string]tool.Note {
	return look(t.Session, func(st *State) map[string]tool.Note { return st.Notes })
}

func (t *toolSession) State(key any, init func() any) any { return t.memory.State(key, init) }
