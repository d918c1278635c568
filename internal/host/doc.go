// Package host prepares sessions for the programs of this module: with the provider whose key is in the environment, that provider's
// profile, a directory on this machine, a journal among the user's sessions, and permissions. [Open] prepares all of it from a [Config].
// The other functions do single parts.
//
// Each program has its own user interface, such as flags and a terminal, or a protocol.
//
// # How the parts of a session meet
//
// The gate (package permit) stands in the seam around calls. The model learns of its mode by a note
// (mode.go), so no mode changes what was sent; exit_plan_mode is exclusive, so the calls beside it
// wait for the mode that follows.
//
// Settings (package settings) come from flags, variables, the project's file and the user's. The command gives its flags the values
// of variables and of the user's file before it checks them. Open adds what the snapshot of the session's own project may choose, so a host
// with sessions in many projects gets it too.
//
// Skills (skills.go): the system prompt has their names and descriptions, as guidance of a tool that loads their text. The tool's definition
// does not depend on them, so no skill begins an epoch. Their directories can be read by tools and, in a sandbox, by commands.
//
// MCP servers (servers.go) start side by side while a session is opened, and Start waits only for the required ones. The user's run in an
// environment that is contained and not confined, a project's in the session's sandbox. Their warnings are shown among the session's events,
// with the number of the event before, and are not in the journal.
//
// Language servers (lsp.go) run in the session's environment, like commands. Their middleware stands outside of the gate and of hooks: it
// reads the files before a call and compares after it.
//
// Hooks (hooks.go) sit in the doors around the session. What hooks for SessionStart say is a note. The user's run in an environment of their
// own, the project's in that of the session's commands.
//
// Checkpoints (checkpoints.go): a middleware outside of the gate and of hooks records the tree around calls; calls that overlap share the
// recordings between them, so that no change of theirs looks like somebody else's. The turn of a point is that of its note, so a fork has the
// points of its beginning, and becomes an owner of their trees. A session says that it uses its directory; an undo claims it, and fails
// where a session does.
//
// Checks (checks.go) are the last BeforeStop. They run the user's commands and compare the hash of the tree before and after them, at the end
// of the input, and in attractor run once more when the session is closed. Each report is a note; the last final one counts.
//
// Sessions on other machines (elsewhere.go): Setup.Machine is where the session works. Setup.Local is that machine if it is this one, and nil
// otherwise, so what needs this machine has to ask for it. A note of the session names the command and the directory. Rules, documents and
// language servers are about the other machine; the user's hooks and MCP servers run here. What the project there brings starts and allows
// nothing, because trust binds a decision to files of this machine; its rules that deny or ask count.
//
// On a resume a tool that the host lacks fails, and one that the session lacks is not offered, unless it is a new one of an MCP server.
package host
