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
// Hosts watch [Event] values as they happen, through [Options].OnEvent or [Session.Events].
package agent
