package attractor

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// Sessions that are not kept each own the trees of their checks: the end of one does not let go of
// another's.
func TestO6_ChecksOwnTheirTrees(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	dir := filepath.Join(t.TempDir(), "checkpoints")
	config := b.config()
	config.Store, config.Checkpoints, config.NoCheckpoints = nil, dir, true
	config.Checks = Checks{Commands: []string{"true"}}
	owners := func() int {
		t.Helper()
		store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := store.Owners(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(all, func(owner string) bool { return !strings.HasPrefix(owner, "checks of ") }))
	}
	var ends []func() error
	for range 2 {
		setup, session := b.begin(config)
		ends = append(ends, func() error { return errors.Join(session.Close(), setup.Close()) })
		if _, err := session.Submit(t.Context(), "go"); err != nil {
			t.Error(err)
		}
	}
	for left := 2; left > 0; left-- {
		if n := owners(); n != left {
			t.Errorf("trees have %d owners while %d sessions are open", n, left)
		}
		if err := ends[left-1](); err != nil {
			t.Error(err)
		}
	}
}
