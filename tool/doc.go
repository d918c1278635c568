// Package tool is what a model can call: a [Tool], the [Registry] of a session, and the pipeline that runs one call (look up,
// validate, authorize, middleware, run, truncate).
//
// What is declared to the model and what can be executed is the same registry. Tools are stateless; what one must remember
// within a session is reached through [Call].Session, as are its background commands, its subagents and the person who gave the task.
//
// # A tool
//
// [New] makes one of a Go function. [WithAccess] says what a call would touch, so that calls that do not get into each other's way can run
// at the same time and a hook can decide about them; without it a call runs alone.
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
// A [Result] has the text for the model, and beside it what programs want to know: Changes of files, what a command Ran to, Structured
// JSON. Nobody has to read the text for that.
//
// [Registry.ForGenerate] gives the same tools to package generate, for programs without an agent.
//
// # Around calls
//
// [Authorize] decides whether a call may run, and may change its arguments; [AuthorizeAll] asks several. A [Middleware] then goes around the
// call: it can refuse the call, give it another environment, measure it, add to its result, or leave it open for another process.
//
//	func spans(next tool.Handler) tool.Handler {
//		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
//			ctx, span := tracer.Start(ctx, call.Name)
//			defer span.End()
//			return next(ctx, call)
//		}
//	}
package tool
