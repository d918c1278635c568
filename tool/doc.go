// Package tool defines what a model can call: a [Tool], the [Registry] of a session, and the
// pipeline that runs one call (look up, validate, authorize, middleware, run, truncate).
//
// The tools of a coding agent are in package tool/coding, and the profiles choose among them. This
// package has none. It decides nothing about calls: hooks that the host passes do.
//
// One registry holds the tools that are declared to the model and that can be executed. Tools are
// stateless. [Call].Session gives them what belongs to a session: their own values, background
// commands, subagents and the person who gave the task.
//
// # A tool
//
// [New] makes a tool of a Go function. [WithAccess] says what a call would touch, so that calls
// without conflicts run at the same time and a hook can decide about them. Without it a call runs
// alone.
//
//	type lookup struct {
//		Ticket string `json:"ticket" jsonschema:"the ticket's key, such as OPS-17"`
//	}
//	t := tool.New(llm.ToolDefinition{Name: "ticket", Description: "Shows a ticket."},
//		func(ctx context.Context, call *tool.Call, args lookup) (tool.Result, error) { ... })
//	t = tool.WithAccess(t, func(args lookup) tool.Access {
//		return tool.Access{Effect: tool.ReadOnly, Hosts: []string{"tickets.example.com"}}
//	})
//
// A [Result] has the text for the model and, for programs, what the text describes: Changes of
// files, the command that Ran, Structured JSON. No program has to parse the text.
//
// [Registry.ForGenerate] gives the same tools to package generate, for programs without an agent.
//
// # Around calls
//
// [Authorize] decides whether a call may run, and may change its arguments. [AuthorizeAll] asks
// several hooks. A [Middleware] then wraps the call: it can refuse it, give it another environment,
// measure it, add to its result, or leave it open for another process.
//
//	func spans(next tool.Handler) tool.Handler {
//		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
//			ctx, span := tracer.Start(ctx, call.Name)
//			defer span.End()
//			return next(ctx, call)
//		}
//	}
package tool
