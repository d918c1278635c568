package attractor

import (
	"context"
	"slices"

	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// changedTools has the gate ask about calls of MCP tools whose descriptions have changed, even if
// the rules allow them, until a person has allowed one: they had allowed the tool as it was
// described.
type changedTools struct {
	gate    *permit.Gate
	servers *mcp.Servers
}

// changedTool is the hash of the description that a person has to accept. The call carries it.
type changedTool string

// hook is a [permit.Hook] before the rules.
func (c *changedTools) hook(_ context.Context, req tool.Request) (permit.Opinion, error) {
	hash := c.servers.Changed(req.Call.Name)
	if hash == "" {
		return permit.Opinion{}, nil
	}
	return permit.Opinion{Says: permit.Asks, Value: changedTool(hash),
		Reason: "the MCP server describes this tool otherwise than before. To see the tool and to accept it as it is " +
			"now, run: attractor mcp tools SERVER"}, nil
}

// middleware accepts a tool when a call of it runs, because a person was asked about it. A call
// does not run if the tool has changed since the call was permitted. In the mode full nobody is
// asked and nothing is accepted.
func (c *changedTools) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		switch hash := c.servers.Changed(call.Name); {
		case hash == "" || c.gate.Mode() == permit.ModeFull:
		case !slices.Contains(permit.Values(call), any(changedTool(hash))):
			return tool.Errorf("The call did not run: the MCP server has changed what it says about this tool since " +
				"the call was permitted. If the call is still right, make it again; a person will be asked " +
				"about it."), nil
		default:
			c.servers.Accept(call.Name, hash)
		}
		return next(ctx, call)
	}
}
