// Package trust decides whether the files of a project may start programs or allow tool calls. A
// repository can bring such files: hooks, MCP servers, skills, permission rules that allow. They
// have no effect until a person has seen and trusted them.
//
// [Scan] reads these files into a [Snapshot]. Programs use the bytes of the snapshot and never read
// the files again, so what was trusted is what is used. A script that runs from the disk is
// compared with [Snapshot.Unchanged] right before it runs. A [Store] keeps the decisions of a user,
// one for each project, with a hash over all these files. Any change of them asks again, and shows
// the difference.
//
// A decision is about one directory, the root of a project. It says nothing about a repository
// inside that directory, nor about another work tree of the same repository. The package shows what
// the files start or allow ([Snapshot.Effects]) and does not judge it.
package trust
