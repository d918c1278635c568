// Package journal is the crash-consistent log of a session.
//
// It knows lines, not sessions: a [Record] is a number, a time, a kind and a JSON body that only the writer understands. A
// [Log] is append-only and has one writer: Append names the number that it expects, so a second writer gets [ErrConflict].
// Large bodies are kept beside the lines as blobs, named by their content.
//
// [Memory] is a log for as long as the program runs. [Dir] is a directory of logs on a disk, each a [File] of JSON lines while
// it is written and a [Reader] for everybody else. FORMAT.md beside this file says what is in those files. Package journaltest
// checks that any other store keeps the contract.
package journal
