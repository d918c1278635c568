package host

import (
	"context"
	"sync"

	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// changedTools asks about calls of servers' tools that describe themselves otherwise than before, whatever the rules allow, until a person
// has let one run. People allowed what they had read.
type changedTools struct {
	gate    *Gate
	servers *mcp.Servers

	mu    sync.Mutex
	asked recent[string] // hashes of the tools of the calls that a person has to allow
}

// hook is a [Hook] before the rules.
func (c *changedTools) hook(_ context.Context, req tool.Request) (Opinion, error) {
	hash := c.servers.Changed(req.Call.Name)
	if hash == "" {
		return Opinion{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked.put(keyOf(req), hash)
	return Opinion{Says: Asks, Reason: "the MCP server describes this tool otherwise than before. To see the tool and to accept it as it is now, run: attractor mcp tools SERVER"}, nil
}

// middleware accepts a tool when a call of it runs, because a person was asked about it. A call does not run if the tool has changed since
// the call was permitted. Without questions nobody is asked.
func (c *changedTools) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		c.mu.Lock()
		asked, _ := c.asked.take(callKey{call.SessionID, call.ID})
		c.mu.Unlock()
		switch hash := c.servers.Changed(call.Name); {
		case hash == "" || c.gate.Mode() == ModeFull:
		case hash != asked:
			return tool.Errorf("The call did not run: the MCP server has changed what it says about this tool since the call was permitted. " +
				"If the call is still right, make it again; a person will be asked about it."), nil
		default:
			c.servers.Accept(call.Name, hash)
		}
		return next(ctx, call)
	}
}
