package env_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
)

// swapRounds is how often each operation runs against the swapping. A check before a plain open loses within the first
// hundred.
const swapRounds = 400

// swap turns what is at the paths into what is aside and back, and a third one into a link and back into a file, until stop
// is closed. The exchange is atomic, so that something is always there; the file is made anew each time, since a write that
// has looked before the link came replaces the link.
func swap(paths, asides [2]string, file, target string, stop <-chan struct{}) error {
	for {
		for i := range paths {
			if err := unix.Renameat2(unix.AT_FDCWD, paths[i], unix.AT_FDCWD, asides[i], unix.RENAME_EXCHANGE); err != nil {
				return err
			}
		}
		aside := asides[0] + ".file"
		err := errors.Join(os.Symlink(target, aside), os.Rename(aside, file))
		err = errors.Join(err, os.WriteFile(aside, []byte("inside"), 0o600), os.Rename(aside, file))
		if err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
		}
	}
}

// While a directory turns into a link to the outside and back, an absolute link into the inside turns into one to the outside
// and back, and a file turns into a link: nothing outside is read, written, listed or removed.
func TestD2_SwappedLinkNeverEscapes(t *testing.T) {
	base := t.TempDir()
	work, outside := base+"/work", base+"/outside"
	mkdir(t, work+"/d/e")
	mkdir(t, work+"/inside/e")
	mkdir(t, outside+"/e")
	for _, dir := range []string{work + "/d/e", work + "/inside/e", outside + "/e"} {
		write(t, dir+"/f", map[bool]string{true: secret, false: "inside"}[strings.HasPrefix(dir, outside)])
	}
	write(t, outside+"/e/secret", secret)
	symlink(t, outside, base+"/swap1")
	symlink(t, work+"/inside", work+"/abs")
	symlink(t, outside, base+"/swap2")
	write(t, work+"/plain", "inside")

	l := newLocal(t, work, env.LocalOptions{})
	var users sync.WaitGroup
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		stopped <- swap([2]string{work + "/d", work + "/abs"}, [2]string{base + "/swap1", base + "/swap2"}, work+"/plain", outside+"/e/f", stop)
	}()
	for _, name := range []string{"d/e/f", "abs/e/f", work + "/d/e/f", "plain"} {
		users.Go(func() { useWhileSwapped(t, l, name) })
	}
	users.Wait()
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatalf("swapping: %v", err)
	}

	only(t, work, "abs", "d", "inside", "plain") // no temporary file either
	only(t, outside, "e")
	only(t, outside+"/e", "f", "secret")
	for _, name := range []string{"/e/f", "/e/secret"} {
		if got := readFile(t, outside+name); got != secret {
			t.Errorf("%s has become %q", name, got)
		}
	}
}

// useWhileSwapped does everything that can be done with a name, and expects the inside or an error.
func useWhileSwapped(t *testing.T, l *env.Local, name string) {
	ctx := t.Context()
	worked, refused := 0, 0
	note := func(err error) {
		switch {
		case err == nil:
			worked++
		case errors.Is(err, fs.ErrPermission):
			refused++
		}
	}
	for i := range swapRounds {
		f, err := l.Open(ctx, name)
		if err == nil {
			data, readErr := io.ReadAll(f)
			if err := errors.Join(readErr, f.Close()); err != nil || strings.Contains(string(data), secret) {
				t.Errorf("%s: read %q, %v", name, data, err)
				return
			}
		}
		note(err)
		note(l.WriteFile(ctx, name, fmt.Appendf(nil, "inside %d", i), 0o644))
		if dir, ok := strings.CutSuffix(name, "/f"); ok {
			list, err := l.ReadDir(ctx, dir)
			for _, info := range list {
				if info.Name == "secret" {
					t.Errorf("%s was listed outside", dir)
					return
				}
			}
			note(err)
			if err := l.Remove(ctx, dir+"/secret"); err == nil {
				t.Errorf("%s/secret was removed", dir)
			}
		}
	}
	if worked == 0 || refused == 0 {
		t.Errorf("%s: %d calls worked and %d were refused: the swapping did not happen", name, worked, refused)
	}
}
