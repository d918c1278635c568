// Package agent runs a coding agent: a [Session] pairs a model with tools in a loop that its host controls at every step.
//
//	s, err := agent.New(ctx, agent.Options{Client: client, Profile: anthropic.Profile(), Env: env})
//	result, err := s.Submit(ctx, "fix the failing test")
//
// # How it works
//
// What to do next is a pure function of what has happened: [Next] reads the [State], and the loop (loop.go) does what it says.
// Whatever happens is a record in the session's journal, and the state is the fold of the records and nothing else. So a
// session resumes anywhere: fold what the journal holds, then run.
//
// # The doors
//
// [Options] and [Session] have all that a host, or a capability that it adds, needs to take part:
//
//   - what the model can call: Options.Tools, [Session.AddTools] and [Session.RemoveTools];
//   - what happens around each call: Options.Middleware, see [tool.Middleware];
//   - what may happen: Options.Authorize and Approve for calls, BeforeInput for what people say, BeforeStop, BeforeCompact, Questions,
//     and a [Ledger] for a budget that others spend, too;
//   - what is kept: [Session.Note], in the session's journal, and Options.Journal itself, a log of a [journal.Store];
//   - what is seen: Options.OnEvent, [Session.Events], and [Project] for the events of a journal;
//   - where it runs: Options.Env, which can be wrapped, and Options.Client with its [llm.Middleware];
//   - what ends with the session: Options.Closers.
//
// # A capability
//
// A capability is a package that puts its parts into the options of a session. This one remembers which files a session has changed:
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
// Hosts get each note as a [NoteWritten]. After a resume, and in a fork, [Load] finds it in [State].Notes.
//
// # Another engine
//
// A session can be driven from outside, a step at a time, each in a process of its own if need be:
//
//	err := s.Begin(ctx, "fix the failing test")
//	for step := (agent.Step{}); err == nil && step.Act != agent.ActRest; {
//		if step, err = s.Advance(ctx); step.Act == agent.ActWait {
//			sleep(ctx, step.Until) // or have it called again then
//		}
//	}
//	result := s.Result()
//
// [Session.Release] gives the session away between two steps, and [Resume] takes it up wherever its journal can be opened.
package agent
