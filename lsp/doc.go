// Package lsp tells a model what its last edit has broken: it adds the diagnostics of language
// servers to the results of tool calls that change files.
//
// [New] returns the servers of a session. Its middleware is all that a session needs. Subagents
// have the middleware of their parent, so they share the servers.
//
//	servers := lsp.New(lsp.Options{Env: local, Servers: lsp.Defaults(), Warn: warn})
//	options.Middleware = append(options.Middleware, servers.Middleware)
//	options.Closers = append(options.Closers, servers)
//
// # What a result gets
//
// After a call that has changed files, its result gets the errors and warnings that the change has
// added: those of the files, and of other files that the edit breaks, namely the files beside them
// and those that were edited before. Errors come first, one line each, 20 at most. What was wrong
// before the call is not shown: the servers are asked about the old content before they see the new
// one. Two diagnostics are the same if they say the same about the same file, wherever in it.
//
// # How long a call waits
//
// A call waits for its diagnostics for [Options].Wait in all. What comes later is part of the
// result of the next call, whatever that is, unless it is not true any more. While a server is
// behind, such as while it loads a large project, calls do not wait for it.
//
// # The servers
//
// A server is a process in the session's environment. It is contained, limited and confined like a
// command. It starts when the first file of its kind is changed and ends with the session, or after
// [Options].Idle without work. A server that ends by itself, that does not answer, or that sends
// nonsense is started again by the next edit, three times at most, and is then off. It never makes
// a call fail.
//
// Servers that offer it (textDocument/diagnostic) are asked for diagnostics. For
// typescript-language-server, a command of its own takes the place of that request. Other servers
// are waited for until they have published diagnostics for the new version of a document, report no
// more progress, and are quiet. What they publish about an older version has no effect.
//
// Everything that a server says is untrusted text. It is cleaned and bounded.
//
// A goroutine for each server takes one change after the other, so a call can leave while its
// change is still being looked at.
package lsp
