// Package journal keeps crash-consistent logs of sessions.
//
// It knows nothing about sessions: a [Record] has a number, a time, a kind and a JSON body that only its writer understands. A [Log]
// is append-only and has one writer. Append names the number that it expects, so that a second writer gets [ErrConflict]. Large
// bodies are kept beside the lines as blobs, named by their content.
//
// A [Store] holds logs by their ids. It opens a log for its writer, reads and follows it for everybody else, and lists, forks and
// removes logs. [Dir] is a store on a disk, [MemoryStore] one in memory; [Memory] is a log without a store.
//
//	store := journal.NewDir(path)
//	log, err := store.Create(ctx, "session-1")                // for its writer, such as agent.Options.Journal
//	for record, err := range store.Follow(ctx, "session-1", 1) { // for a watcher, in any process
//		...
//	}
//
// # Other stores
//
// A store that can tell whether a log's writer is alive refuses a second one with [ErrLocked]. A store that cannot, such as one on
// another machine, fences: Open takes the log over, and the next Append of the previous writer returns ErrConflict. Package
// journaltest checks that a log or a store keeps the contract:
//
//	func TestStore(t *testing.T) {
//		journaltest.StoreSuite(t, func(t *testing.T) journal.Store { return mystore.New(t) })
//	}
//
// FORMAT.md beside this file describes the files of a Dir. Other stores and programs write and read their lines with [AppendLine] and
// [ParseLine].
package journal
