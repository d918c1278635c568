// Package ext reads what teams write for their agents: skills, commands and definitions of
// subagents, in Markdown files with YAML front matter.
//
// [ParseSkill], [ParseCommand] and [ParseAgent] each read a [File], and return a value and a list
// of every [Mistake]. A mistake costs no more than the field or the file that it is in; it says
// where it is and what is supported. [SkillTool] returns the tool with which a model loads skills,
// [Skill.Fill] and [Command.Fill] return the prompt for a person who calls one by its name.
// [ParseFront] reads the front matter of other files.
//
// The package looks for no files, runs nothing and permits nothing. Hosts find the files, decide
// whom to trust, and put the values into the doors of a session. Hooks are package hooks, documents
// such as AGENTS.md package instructions.
//
// # Decisions
//
//   - allowed-tools permits nothing and forbids nothing: it is told to the model. Authors write it
//     as a list of what need not be asked about, so taking it for a limit would break their skills,
//     and taking it for a permission would let a file decide what its user did not.
//   - Arguments of commands are put into scripts by the shell's syntax tree, quoted for their
//     place. Quotes around them would not do: in a here document or in arithmetic they do not
//     quote.
//   - A command's shell commands are calls of tools outside of the session: they pass its gate and
//     middleware, and only their output is recorded. The files of commands are read when somebody
//     uses one.
//   - The tools of an agent are chosen when it starts, by a middleware that narrows its task,
//     because servers' tools come and go.
//   - A skill is known by its directory, as in the specification, so that its name is also that of
//     the file which a user has to find.
package ext
