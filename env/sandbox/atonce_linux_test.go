package sandbox_test

import (
	"sync"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
)

// Sandboxes that are opened at the same time do not take each other's directories for abandoned
// ones.
func TestL4_OpenedAtOnce(t *testing.T) {
	peer.Need(t, "bwrap")
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var all sync.WaitGroup
	for range 4 { // more at once reach the limit for the end of a namespace on a busy machine
		all.Go(func() {
			for range 20 {
				box, err := sandbox.New(dir, sandbox.Options{Level: sandbox.Workspace})
				if err == nil {
					err = box.Close()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}
