// Package mcp connects a session to servers of the Model Context Protocol, whose tools become tools
// of the session.
//
// [Start] starts the servers side by side and returns at once. A server on this machine is a
// process in an environment of the host, so it is contained and confined like a command, and ends
// with the environment at the latest. A remote one is reached by a client of the host's choice.
//
//	servers := mcp.Start(ctx, mcp.Options{Servers: list, Env: env, Warn: warn})
//	err := servers.Ready(ctx) // if a required server is missing
//	...
//	options.Tools, options.Closers = servers.Tools(), []io.Closer{servers} // they end with the session
//	session, err := agent.New(ctx, options)
//	leave := servers.Join(session) // late, changed and gone tools
//
// # Tools
//
// A tool of a server is called mcp__SERVER__TOOL. It is an ordinary tool.Tool: the gate, the secret
// doors, limits and the output store apply. Everything that a server says is untrusted text. It is
// cleaned, bounded and never interpreted, and the hashes of definitions are kept, so that the host
// can tell people when one has changed ([ChangedError]).
//
// # Servers that fail
//
// Servers never end a session. One that cannot be started, dies, floods or answers nonsense is a
// warning ([Options.Warn]), and its calls get error results that say what happened. A server that
// died is started again by the next call of one of its tools: a process three times at most, unless
// it has worked for a while, and a remote server at any time. The call that it did not finish is
// not repeated, because it may have had effects.
//
// A server may ask a person ([tool.Session.Ask]) while a call runs. It gets no access to the model
// (sampling) and no list of directories (roots).
//
// # Remote servers
//
// A [Network] connects only to public addresses and to hosts that the configuration names. [LogIn]
// lets a user log in with OAuth and keeps the tokens in a [TokenStore]. Sessions use and refresh
// them, one process at a time, and never begin a login: a server that wants one is a [LoginError].
//
// # Decisions
//
//   - Schemas are rewritten, and only to looser ones, because the server checks its arguments
//     anyway. Keywords that get stricter when what is in them gets looser (not, if, oneOf) are left
//     out or loosened as well. References are replaced by what they refer to.
//   - Above the budget all tools are deferred, so that what is offered does not depend on which
//     server was first.
//   - A forwarded call is recorded as the model made it, and judged and run as the tool that it
//     names. Results have to answer the model's call, and a replay has no tools, only definitions.
package mcp
