// Package masked puts a [secret.Masker] into the doors of a session, so that secrets neither enter its history nor leave it.
//
//	m := secret.New() // and m.Register what is secret
//	client.Middleware = append(client.Middleware, masked.Provider(m))
//	options.BeforeInput = masked.Input(m, options.BeforeInput)
//	options.Middleware = append([]tool.Middleware{masked.Tools(m, masked.Options{})}, options.Middleware...)
//	options.OnEvent = masked.Events(m, show)
//	options.Subagents.Journal = masked.Journal(m, store.Create)
//	options.System = masked.Prompt(ctx, m, options) // at last
//	log := slog.New(m.Log(handler))
//
// Tools and Input mask what enters: the results of calls, what commands print while they run, whole outputs in the session's store, and
// what people write. Prompt, Provider and Journal mask the system prompt, also that of subagents, and the errors of providers. Events masks
// what hosts see, also what the model wrote itself. An answer of the model stays in the history as it is, because a changed one would be
// another answer. After [agent.Resume], Recall says which placeholders the session has.
package masked
