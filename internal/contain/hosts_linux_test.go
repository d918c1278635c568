package contain

import (
	"errors"
	"os"
	"path"
	"strings"
	"syscall"
	"testing"
)

// endAbandonedIn is EndAbandoned for one directory, so that it leaves those of other tests alone.
func endAbandonedIn(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		f, locked, lockErr := lockDir(path.Join(dir, e.Name()), syscall.LOCK_EX)
		if locked {
			_, lockErr = abandoned{strings.TrimSuffix(e.Name(), hostSuffix), f}.end(0)
		}
		err = errors.Join(err, lockErr)
	}
	return err
}

// A host whose file is taken for an abandoned one, between its making and its locking, holds another file, and ends without an error.
func TestE2_HostsBesideASearchForAbandonedOnes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	if !ownDir(path.Join(dir, "attractor")) {
		t.Fatal("the directory of hosts cannot be used")
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := endAbandonedIn(path.Join(dir, "attractor")); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 3000 {
		h := newHost()
		h.hold()
		if err := h.release(true); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}
