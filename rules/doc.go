// Package rules decides which tool calls of a model are allowed, denied, or left to a person.
//
// [Load] reads rules into a [Set], and [Set.Decide] returns a [Decision] about a call: the verdict,
// the rule, a reason, and rules to suggest to the person who is asked. Nothing is run to decide.
// Rules are no sandbox: they judge what a call says that it does, and a command that is allowed can
// do whatever its user can. Package sandbox confines it.
//
// Rules have the form of Claude Code's settings files: lists of allow, ask and deny in a JSON
// object named permissions. A deny rule that matches always wins, then an ask rule, then an allow
// rule, however specific they are. If none matches, the built-in table decides: reading inside the
// session's directories is allowed, and so are commands that only read, except for files that
// usually hold secrets. Everything else asks.
//
//	{"permissions": {
//	  "allow": ["Bash(go test:*)", "Edit(./docs/**)", "WebFetch(domain:go.dev)"],
//	  "ask":   ["Bash(git push *)"],
//	  "deny":  [{"rule": "Read(./secrets/**)", "reason": "ask the owner", "match": ["secrets/key"], "not_match": ["secret.go"]}]
//	}}
//
// A rule is the name of a tool, or a name with a pattern:
//
//   - Bash(PATTERN) matches commands. A script is parsed (package shell), and PATTERN is compared
//     with the words of each simple command. A star stands for any text. At the end, " *" and ":*"
//     stand for any further words, or none. Every command of a script must be allowed. One command
//     that a deny or ask rule matches decides for the script, also in a substitution, behind a
//     wrapper, or under a path.
//   - Read(PATTERN) and Edit(PATTERN) match files, by patterns as in .gitignore: //x is absolute,
//     ~/x starts at the home directory, /x at the directory of the file with the rule, and x and
//     ./x at the working directory. They also apply to the files that commands read, and to
//     redirections. Grep, Glob, LS, Write, MultiEdit and NotebookEdit with a pattern mean the same.
//   - WebFetch(domain:NAME) matches a host; *.NAME matches the hosts below it.
//   - Agent(NAME) and Skill(NAME) match an agent or a skill.
//   - mcp__SERVER, mcp__SERVER__* and mcp__SERVER__TOOL match tools of an MCP server.
//
// Names are judged as they are given and as they are after symbolic links: a deny or ask rule
// matches either, an allow rule has to match the file that is really used.
//
// Deny and ask rules match generously: also a program under a path, with options in front of its
// subcommand, or behind a wrapper. Allow rules match only the words that they have. A wide allow
// rule does not cover files that hold secrets, start programs or instruct agents: Edit(./**) says
// nothing about AGENTS.md, nor Bash(cat:*) about .env. A rule has to name them.
//
// # Decisions
//
//   - The syntax is Claude Code's, because users and projects have such files. A form that only it
//     knows is a warning in its own files if it allows, and a mistake elsewhere.
//   - Patterns are compared with the words of parsed commands, so quotes, chains and wrappers
//     neither hide a command from a deny rule nor smuggle one past an allow rule.
package rules
