package lsp

import (
	"slices"
	"testing"

	"github.com/attractor-go/attractor/internal/await"
)

// ExpectWords lets the servers be slow, as on a busy machine: they say something about each change,
// however long that takes.
func (s *Servers) ExpectWords() { s.silent = await.Limit }

// WaitForJob waits until a server works on a change.
func (s *Servers) WaitForJob(t testing.TB) {
	t.Helper()
	await.For(t, "a change that a server works on", func() bool {
		return slices.ContainsFunc(s.runners, func(r *runner) bool { return r.next() != nil })
	})
}

// WaitForEnd waits until no server's process is left.
func (s *Servers) WaitForEnd(t testing.TB) {
	t.Helper()
	await.For(t, "the end of all servers", func() bool {
		return !slices.ContainsFunc(s.runners, func(r *runner) bool { return r.lives.Load() })
	})
}
