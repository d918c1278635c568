package agent

import (
	"context"

	"github.com/attractor-go/attractor/tool"
)

// toolSession is a session as its tools see it.
type toolSession Session

func (t *toolSession) Outputs() tool.Outputs { return t.outputs }

func (t *toolSession) Processes() tool.Processes { return t.processes }

func (t *toolSession) Agents() tool.Agents { return nil }

func (t *toolSession) Ask(context.Context, tool.Question) (tool.Answer, error) {
	return tool.Answer{}, tool.ErrNobody
}

func (t *toolSession) State(key any, init func() any) any { return t.memory.State(key, init) }
