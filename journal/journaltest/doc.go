// Package journaltest checks that a journal.Log and a journal.Store keep their contracts.
//
// The test of a store of your own is one call of [StoreSuite], and that of a log without a store
// one of [Suite]. Both compare random sequences of calls with a journal.Memory. They do not test
// crashes: kill a process that writes to the store for that.
package journaltest
