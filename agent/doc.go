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
// Hosts watch [Event] values as they happen, through [Options].OnEvent or [Session.Events].
package agent
