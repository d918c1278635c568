// Package masked puts a [secret.Masker] into the doors of a session, so that secrets neither enter
// its history nor leave it.
//
//	m := secret.New() // and m.Register what is secret
//	options.Logger = slog.New(m.Log(handler))
//	options.System = masked.Prompt(ctx, m, options)
//	masked.Attach(m, &options) // at last
//	session, err := agent.New(ctx, options)
//
// [Attach] uses the other functions. [Tools] and the hooks mask what enters: the results of calls
// and why some may not run, what commands print while they run, whole outputs in the session's
// store, what people write, and why work is not done yet. [Prompt], [Provider] and [Journal] mask
// the system prompt, also that of subagents, and the errors of providers. [Events] masks what hosts
// see, also what the model wrote itself. An answer of the model stays in the history as it is,
// because a changed one would be another answer. A session that is resumed keeps its prompt, so it
// needs no Prompt; after [agent.Resume], [Recall] says which placeholders it has.
//
// Masking changes texts only. The tools of a session still read files and run programs with
// whatever secrets those have; which variables commands get is decided by the environment (package
// env).
package masked
