// Package journal keeps crash-consistent logs of sessions.
//
// Start with [NewDir], which makes a [Store] on a disk; agent.Open keeps a session in one. A store
// holds logs by their ids. It opens a [Log] for its writer, reads and follows it for everybody
// else, and lists, forks and removes logs. [MemoryStore] is a store in memory, and [Memory] a log
// without a store.
//
// A log is append-only and has one writer. A [Record] has a number, a time, a kind and a JSON body.
// Append names the number that it expects, so that a second writer gets [ErrConflict]. Large bodies
// are kept beside the lines as blobs, named by their content.
//
// The package does not know what records mean: package agent writes those of sessions, and
// agent.Project makes events of them. It encrypts and masks nothing.
//
//	store := journal.NewDir(path)
//	log, err := store.Create(ctx, "session-1")                   // for its writer, such as agent.Options.Journal
//	for record, err := range store.Follow(ctx, "session-1", 1) { // for a watcher, in any process
//		...
//	}
//
// # Other stores
//
// A store that can tell whether a log's writer is alive refuses a second one with [ErrLocked]. A
// store that cannot, such as one on another machine, fences: Open takes the log over, and the next
// Append of the previous writer returns ErrConflict. Package journaltest checks that a log or a
// store keeps the contract:
//
//	func TestStore(t *testing.T) {
//		journaltest.StoreSuite(t, func(t *testing.T) journal.Store { return mystore.New(t) })
//	}
//
// FORMAT.md beside this file describes the files of a Dir. Other stores and programs write and read
// their lines with [AppendLine] and [ParseLine].
package journal
