// Package permit decides which tool calls of a session run: by a mode, permission rules, hooks and
// the answers of a person, each bound to what the person was shown.
//
// A [Gate] has three methods for a session's options, and they belong together: Authorize and
// Approve decide about calls, and Middleware holds each call to what they decided about.
//
//	gate := permit.NewGate(permit.ModeAsk, set, environment) // set is a *rules.Set
//	gate.Ask = askOnTheTerminal
//	options.Authorize, options.Approve = gate.Authorize, gate.Approve
//	options.Middleware = append(options.Middleware, gate.Middleware)
//
// Without a person, calls that need one are refused, and the model reads why. Where people are
// elsewhere, an [Inbox] keeps what they are asked until an answer comes by its id.
//
// # How a call passes
//
// The hooks before the rules say what they think of the call. The rules decide, and what they
// decided goes with the call ([tool.Decision].Value, which no other hook may set) from Authorize to
// Approve and to the middleware. They are asked again if the arguments, the rules or the places to
// which the call's paths lead have changed, and about commands and searches also right before a
// question. The mode says what becomes of a call that the rules ask about. An allow from a hook
// answers only a question of the built-in rules.
//
// Then the hooks before the question are asked, and a person, one question at a time. An approval
// is bound to what the question showed: the call runs in an environment that refuses to touch a
// file whose content or place has changed since. The mode can change at any time and counts for the
// next call that is judged.
package permit
