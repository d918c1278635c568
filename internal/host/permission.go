package host

import (
	"context"

	"github.com/attractor-go/attractor/tool"
)

// Permission decides which tool calls are allowed.
type Permission uint8

// The permissions. A call that only reads is always allowed.
const (
	Ask      Permission = iota // [agent.Options].Approve is asked about every call that changes or runs something
	AllowAll                   // every call is allowed
	ReadOnly                   // every call that changes or runs something is refused
)

// Authorize implements [tool.Authorize]. With Ask it leaves the decision to [agent.Options].Approve.
func (p Permission) Authorize(_ context.Context, req tool.Request) (tool.Decision, error) {
	switch {
	case p == AllowAll || req.Access.Effect == tool.ReadOnly:
		return tool.Decision{Verdict: tool.Allow}, nil
	case p == ReadOnly:
		return tool.Decision{Reason: "this session is read-only: you can read and search files, but not change or run anything. Report what you would do instead"}, nil
	}
	return tool.Decision{Verdict: tool.Ask}, nil
}
