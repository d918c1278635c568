// Package attractor runs coding agents: it pairs a language model with developer tools in a loop
// that your program controls.
//
//	session, err := attractor.Open(ctx, attractor.Config{Allow: []string{"Edit(./**)", "Bash(go test:*)"}})
//	...
//	defer session.Close()
//	result, err := session.Submit(ctx, "fix the failing test")
//	fmt.Println(result.Text)
//
// [Open] begins a [Session] in a directory: with a model, the tools of its family, permissions,
// masked secrets, the project's documents, and what the [Config] adds. A session that is told
// nothing about permissions reads and refuses everything else, and nothing that a repository brings
// is started.
//
// [Prepare] and [Setup] are the two halves of Open, for programs that show something or change
// options before a session starts; the command's hosts use them. The files that the user and the
// project bring are read by package load; sessions that are kept are found by package sessions, and
// what one has changed is taken back by package undo.
//
// The parts are packages of their own, for programs that want others: agent has the session and its
// loop, llm the models, tool and tool/coding the tools, env the machine, permit and rules what may
// run, journal where sessions are kept. The command in cmd/attractor is one more program.
//
// README.md says what there is, and DESIGN.md how it is built.
package attractor
