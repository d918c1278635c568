package host

import (
	"context"

	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// changedTools asks about calls of servers' tools that describe themselves otherwise than before, whatever the rules allow, until a person
// has let one run. People allowed what they had read.
type changedTools struct {
	gate    *Gate
	servers *mcp.Servers
}

// hook is a [Hook] before the rules.
func (c *changedTools) hook(_ context.Context, req tool.Request) (Opinion, error) {
	if !c.servers.Changed(req.Call.Name) {
		return Opinion{}, nil
	}
	return Opinion{Says: Asks, Reason: "the MCP server describes this tool otherwise than before. To see the tool and to accept it as it is now, run: attractor mcp tools SERVER"}, nil
}

// middleware accepts a tool when a call of it runs, because a person was asked then. Without questions nobody was.
func (c *changedTools) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if c.gate.Mode == Ask && c.servers.Changed(call.Name) {
			c.servers.Accept(call.Name)
		}
		return next(ctx, call)
	}
}
