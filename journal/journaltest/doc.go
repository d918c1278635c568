// Package journaltest checks that a journal.Log and a journal.Store keep their contracts.
package journaltest
