// Package journal is the crash-consistent log of a session.
//
// It knows lines, not sessions: a [Record] is a number, a time, a kind and a JSON body that only the writer understands. A
// [Log] is append-only and has one writer: Append names the number that it expects, so a second writer gets [ErrConflict].
// Large bodies are kept beside the lines as blobs, named by their content.
//
// A [Store] holds logs by their ids: it opens one for its writer, reads and follows it for everybody else, lists, forks and removes.
// [Dir] is one on a disk, [MemoryStore] one for as long as the program runs; [Memory] is a log by itself. FORMAT.md beside this file
// describes the files of a Dir; [AppendLine] and [ParseLine] are their lines, for stores and programs elsewhere. Package journaltest checks
// that any other log or store keeps the contract.
package journal
