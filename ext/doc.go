// Package ext reads what teams write for their agents: Markdown files with YAML front matter. It returns values, and the mistakes in the
// files. Hosts find the files, decide whom to trust, and put the values into the doors of a session.
//
// A mistake costs no more than the field or the file that it is in. Each says where it is and what is supported.
//
// # Decisions
//
//   - allowed-tools permits nothing and forbids nothing: it is told to the model. Authors write it as a list of what need not be asked
//     about, so taking it for a limit would break their skills, and taking it for a permission would let a file decide what its user did
//     not.
//   - Arguments of commands are put into scripts by the shell's syntax tree, quoted for their place. Quotes around them would not do: in a
//     here document or in arithmetic they do not quote.
//   - A command's shell commands are calls of tools outside of the session: they pass its gate and middleware, and only their output is
//     recorded. The files of commands are read when somebody uses one.
//   - The tools of an agent are chosen when it starts, by a middleware that narrows its task, because servers' tools come and go.
//   - A skill is known by its directory, as in the specification, so that its name is also that of the file which a user has to find.
package ext
