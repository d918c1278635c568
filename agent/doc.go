// Package agent runs a coding agent: a [Session] pairs a model with tools in a loop that its host
// controls at every step.
//
//	s, err := agent.New(ctx, agent.Options{Client: client, Profile: anthropic.Profile(), Env: env})
//	result, err := s.Submit(ctx, "fix the failing test")
//
// Start with [Options], [New] and [Session.Submit]. [Session.Run] yields each [Event] of a task,
// [Open] goes on with a session after the end of a process, and [Do] has a Go value as its result.
// [Policy] has limits and budgets, and [Hooks] the decisions of the host.
//
// The package knows no provider, no prompt and no coding tool: those come in through Options. It
// asks nobody for permission and confines nothing unless the host says so.
//
// # How it works
//
// All that happens in a session is a record in its journal, and the [State] is the fold of these
// records and nothing else. What to do next is a pure function of the state: the loop does what
// [Next] returns. So a session resumes anywhere: fold the journal, then run the loop.
//
// With [Open] and a [Key], a program can be killed at any time and simply run again.
//
// # The doors
//
// A host, or a capability that it adds, takes part through [Options] and the methods of [Session]:
//
//   - what the model can call: Options.Tools, [Session.AddTools], [Session.RemoveTools] and
//     [Session.ReplaceTools];
//   - what happens around each call: Hooks.Middleware, see [tool.Middleware];
//   - what is allowed: Hooks.Authorize and Approve for calls, BeforeInput for messages of people,
//     BeforeStop, BeforeCompact, Options.Questions, and a [Ledger] for a shared budget;
//   - what is kept: [Session.Note], and Options.Journal, a log of a [journal.Store];
//   - what is seen: Options.OnEvent and Logger, [Session.Run], [Session.Events], and [Project] for
//     the events of a journal;
//   - where tools run: Options.Env, which can be wrapped, and for models Options.Client with its
//     [llm.Middleware];
//   - what ends with the session: Options.Closers.
//
// # A capability
//
// A capability is a package that adds its parts to the options of a session. This one keeps a list
// of the files that a session has changed:
//
//	func Attach(o *agent.Options) {
//		o.Middleware = append(o.Middleware, remember)
//	}
//
//	func remember(next tool.Handler) tool.Handler {
//		return func(ctx context.Context, c *tool.Call) (tool.Result, error) {
//			result, err := next(ctx, c)
//			if err != nil || len(result.Changes) == 0 {
//				return result, err
//			}
//			changes, err := json.Marshal(result.Changes)
//			if err != nil {
//				return result, err
//			}
//			return result, c.Session.Note(ctx, "changes."+c.ID, changes, "")
//		}
//	}
//
// Hosts get each note as a [NoteWritten]. After a resume, and in a fork, [Load] finds it in
// [State].Notes.
//
// # Another engine
//
// A program can drive a session itself, a step at a time, and take each step in another process:
//
//	err := s.Begin(ctx, "fix the failing test")
//	for step := (agent.Step{}); err == nil && step.Act != agent.ActRest; {
//		if step, err = s.Advance(ctx); step.Act == agent.ActWait {
//			sleep(ctx, step.Until) // or come back then
//		}
//	}
//	result := s.Result()
//
// [Session.Release] gives the session away between two steps, and [Resume] takes it over wherever
// its journal can be opened.
package agent
