// Package protocol keeps a session open for a program: it reads one JSON object a line, gives the
// session what they say, and answers each with one REPLY event among the events of the session.
// docs/protocol.md describes the lines and the events.
//
// The lines that bring work (user, steer, follow_up, continue, compact, set) are taken one after
// the other by one goroutine, which may wait for hooks and for what a /command runs. Those that
// control what runs (interrupt, answer, approve, status, close) are taken by the goroutine that
// reads, so nothing holds them up. A third goroutine works on the inputs.
//
// The viewer's page sends the same lines, one at a time, to [Conversation.Do]. A [Host] that shows
// the session to a person is told what they do. A [Page] gives the viewer what the session's
// journal does not have.
package protocol
