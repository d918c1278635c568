// Package journaltest checks that a journal.Log keeps its contract.
package journaltest
