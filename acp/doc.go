// Package acp lets editors run agents over the Agent Client Protocol: JSON-RPC messages, one a
// line, in version 1 of the protocol.
//
// An [Agent] serves one editor. Its Open function makes a [Session] for each directory that the
// editor asks for, and gets a [Client], through which the session is shown and asks. The package is
// the agent's side only. It stores nothing: a program that lists and resumes sessions keeps their
// journals.
//
// Usually the editor has started the process, and Serve gets its standard input and output:
//
//	a := &acp.Agent{Name: "example", Version: "1.0", Open: func(ctx context.Context, o acp.Opening) (*acp.Session, error) {
//		local, err := env.NewLocal(o.Dir, env.LocalOptions{})
//		if err != nil {
//			return nil, err
//		}
//		s, err := agent.New(ctx, agent.Options{Client: client, Profile: anthropic.Profile(), Env: local, OnEvent: o.Client.Event,
//			Questions: o.Client.Questions(), Hooks: agent.Hooks{Authorize: ask, Approve: o.Client.Approve}})
//		return &acp.Session{Agent: s, Close: local.Close}, err
//	}}
//	err := a.Serve(ctx, os.Stdin, os.Stdout)
//
// Each request runs on a goroutine of its own. Several sessions can be open, and each runs one
// prompt at a time. Updates of a session come in the order of its events, and before the response
// to the prompt that they belong to. An editor that does not read holds up its sessions, but not
// their end.
//
// # What an editor sees
//
// Texts and thoughts come as chunks; what changes the plan, the mode, the title or the options, as
// the protocol's updates. A tool call is shown with its kind, the files that it touches and its
// arguments, and, once it has run, with its diffs or its output. Live output is sent at most twice
// a second, and of long output the end. Of a subagent the tool calls are shown. Warnings are
// notices where the editor shows these, else messages of the agent.
//
// A permission waits for its answer for as long as its prompt: a person may be away. Cancelling the
// prompt ends the wait. An answer that was not offered, and one that closes the question, are
// refusals. Later answers are ignored. The model's questions are forms where the editor has these,
// else texts that end the prompt; the next prompt answers.
//
// # Files
//
// [Client.Files] makes the editor's text files those of the session, in the directories that the
// editor names, if the editor lets others read them. What is not saved is then what the model
// reads, what a person approves, and what an edit is based on. Writes go through the editor if it
// offers that, too. The file on the disk is compared afterwards, and written if the editor has not
// saved it, because commands read it there. Line endings, the byte order mark and the final newline
// are those of the file, since editors keep them apart from the text. What a formatter of the
// editor changes stays.
//
// Searches and commands see the disk: the protocol cannot list unsaved files. A model that reads
// one is told so. The disk also has what is not UTF-8 or larger than 8 MiB, what is in .git, and
// what the editor refuses to give, which the person is told once. An editor that does not answer
// within 10 seconds, or 30 for a write, is not asked for a minute. Unsaved changes are never
// overwritten: without the editor, such a file is not written. A file that only the editor has does
// not exist.
//
// # Bounds
//
// A message has at most 32 MiB, a prompt's images included. A longer one is skipped and answered
// with an error. A connection has at most 64 requests and 64 open sessions at a time.
//
// # The end
//
// When the input ends, or the output cannot be written to, all prompts are cancelled and all
// sessions are closed, in order, so that they can be resumed.
//
// # Decisions
//
//   - The messages are the package's own types over its own JSON-RPC. The Go SDK of the protocol
//     lacks stable methods, passes each update through a map, which changes numbers, ends at a line
//     of 10 MiB and starts a goroutine for each request without a limit.
//   - The editor's files are an environment around the session's directory, inside of protection
//     and the gate, so hashes and approvals are about unsaved text.
package acp
