// Package remote is an environment on another machine, or in a container.
//
// [Dial] opens an [Env] behind a command such as docker exec, kubectl exec or ssh, and uploads the
// program that works over there if it has to. [New] opens one on any other stream of bytes, such as
// a socket. An Env is an env.Environment with all optional capabilities of a Local, so tools,
// searches and checkpoints work as on this machine; searches run over there.
//
// The far side is the program attractor-remote, or attractor env serve; package serve is the code
// of both. docs/env-protocol.md describes what is said between them. When the stream breaks, what
// was under way returns env.ErrLost and is not tried again.
//
// The package does not authenticate and does not encrypt: ssh does, or whatever else carries the
// stream. It does not copy a project to the other machine.
//
// # Decisions
//
//   - yamux multiplexes the stream, and each operation is a stream of messages of our own with caps
//     (package wire). An answer ends with a message that says so, because the end of a stream can
//     also be its break.
//   - yamux's keepalive is off: the watch for silence counts everything that is heard, so a large
//     answer is not taken for a dead line.
//   - After a break the next operation dials, once for all that wait; the far side ends all that it
//     started.
//   - Dial speaks to a shell there by lines until a helper runs, which is found by its version or
//     uploaded by its hash.
package remote
