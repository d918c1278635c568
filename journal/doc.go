// Package journal is the crash-consistent log of a session.
//
// It knows lines, not sessions: a [Record] is a number, a time, a kind and a JSON body that only the writer understands. A
// [Log] is append-only and has one writer: Append names the number that it expects, so a second writer gets [ErrConflict].
// Large bodies are kept beside the lines as blobs, named by their content.
package journal
