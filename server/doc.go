// Package server runs sessions for programs that reach it over HTTP.
//
// A [Server] opens sessions of a journal.Store, each wired by package attractor, and keeps them
// open. Clients send the lines of docs/protocol.md as bodies and read the events as server-sent
// events, which go on where they stopped by Last-Event-ID. [Document] returns the API as an OpenAPI
// document, which is made of the types of this package. A [Token] has a name and sees the sessions
// that it has created. What a session may be (directory, mode, sandbox, budget) is bounded by
// [Options]. docs/server.md describes all of it.
//
// All sessions run as the user of the process, so tokens are no wall between people.
//
// # Decisions
//
//   - There is no second protocol: internal/protocol decodes and carries out the lines, as it does
//     for standard input and for the viewer's page.
//   - A session's newest events are kept encoded, once for all who watch. Whoever reads too slowly
//     is cut off and comes back with the id of the last event that it has; what is not kept any
//     more comes from the journal.
//   - The journals say what is to be done. A file beside them says whose a session is, how it was
//     opened, and how often the server died while its input was open.
//   - One process serves a state directory, by a lock on it.
package server
