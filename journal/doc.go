// Package journal is the crash-consistent log of a session.
//
// It knows lines, not sessions: a [Record] is a number, a time, a kind and a JSON body that only the writer understands. A
// [Log] is append-only and has one writer: Append names the number that it expects, so a second writer gets [ErrConflict].
// Large bodies are kept beside the lines as blobs, named by their content.
//
// A [Store] holds logs by their ids: it opens one for its writer, reads and follows it for everybody else, lists, forks and removes.
// [Dir] is one on a disk, [MemoryStore] one for as long as the program runs; [Memory] is a log by itself.
//
//	store := journal.NewDir(path)
//	log, err := store.Create(ctx, "session-1")                // its writer, such as agent.Options.Journal
//	for record, err := range store.Follow(ctx, "session-1", 1) { // somebody who watches, in any process
//		...
//	}
//
// # A store of your own
//
// A store that can tell whether a log's writer lives refuses a second one with [ErrLocked]. One that cannot, such as a store on another machine,
// fences: Open takes the log over, and the next Append of the writer before gets ErrConflict. Package journaltest checks that a log or a store
// keeps the contract:
//
//	func TestStore(t *testing.T) {
//		journaltest.StoreSuite(t, func(t *testing.T) journal.Store { return mystore.New(t) })
//	}
//
// FORMAT.md beside this file describes the files of a Dir; [AppendLine] and [ParseLine] are their lines, for stores and programs elsewhere.
package journal
