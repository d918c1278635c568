package env_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/await"
)

var swapFor = flag.Duration("swap.for", time.Second, "how long TestD2_SwappedLinkNeverEscapes swaps links")

// swap exchanges the paths with asides and back, and replaces a third path by a link and by a file
// in turns, until stop is closed. It returns the number of rounds. The exchange is atomic, so the
// paths always exist. The file is made anew each time, since a write that has checked it before the
// link came replaces the link.
func swap(paths, asides [2]string, file, target string, stop <-chan struct{}) (rounds int, err error) {
	for {
		for i := range paths {
			if err := unix.Renameat2(unix.AT_FDCWD, paths[i], unix.AT_FDCWD, asides[i],
				unix.RENAME_EXCHANGE); err != nil {
				return rounds, err
			}
		}
		aside := asides[0] + ".file"
		err := errors.Join(os.Symlink(target, aside), os.Rename(aside, file))
		err = errors.Join(err, os.WriteFile(aside, []byte("inside"), 0o600), os.Rename(aside, file))
		if err != nil {
			return rounds, err
		}
		rounds++
		select {
		case <-stop:
			return rounds, nil
		default:
		}
	}
}

// memoryDir returns a directory in memory if there is one, where swaps are seventy times as fast as
// on a disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "swap")
	if err != nil {
		t.Logf("on disk, which is slower: %v", err)
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// While a directory and a link to the outside, an absolute link to the inside and one to the
// outside, and a file and a link are swapped, nothing outside is read, described, listed, written
// or removed.
func TestD2_SwappedLinkNeverEscapes(t *testing.T) {
	base := memoryDir(t)
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
	stop, swapped := make(chan struct{}), make(chan error)
	rounds := 0
	go func() {
		var err error
		rounds, err = swap([2]string{work + "/d", work + "/abs"}, [2]string{base + "/swap1", base + "/swap2"},
			work+"/plain", outside+"/e/f", stop)
		swapped <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), *swapFor)
	defer cancel()
	patience, giveUp := context.WithTimeout(t.Context(), *swapFor+await.Limit)
	defer giveUp()
	names := []string{"d/e/f", "abs/e/f", work + "/d/e/f", "plain"}
	users := make([]*swapUser, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		users[i] = &swapUser{l: l, name: name, calls: make(map[string]*tried)}
		running.Go(func() { users[i].use(ctx, patience) })
	}
	running.Wait()
	close(stop)
	if err := <-swapped; err != nil {
		t.Fatalf("swapping: %v", err)
	}
	t.Logf("%d rounds of swapping", rounds)
	for _, u := range users {
		u.report(t)
	}

	only(t, work, "abs", "d", "inside", "plain") // no temporary file is left
	only(t, outside, "e")
	only(t, outside+"/e", "f", "secret")
	for _, name := range []string{"/e/f", "/e/secret"} {
		if got := readFile(t, outside+name); got != secret {
			t.Errorf("%s was changed to %q", name, got)
		}
	}
}

// tried counts the outcomes of one method's calls.
type tried struct{ worked, refused, others int }

// swapUser does everything that can be done with a name.
type swapUser struct {
	l     *env.Local
	name  string
	calls map[string]*tried
	leak  error // what was seen of the outside
}

// escaped is the error of a call that reached the outside.
type escaped struct{ what string }

func (e escaped) Error() string { return "escaped: " + e.what }

// use performs all operations on its name until the span is over and each method has met both sides
// of a swap, until patience is over, or until something leaks.
func (u *swapUser) use(span, patience context.Context) {
	dir, file := path.Split(u.name)
	for i := 0; u.leak == nil && patience.Err() == nil && (span.Err() == nil || len(u.unmet()) > 0); i++ {
		u.call("Open", u.open)
		u.call("Stat", func() error { return described(u.l.Stat(context.Background(), u.name)) })
		u.call("Remove", func() error { return u.l.Remove(context.Background(), u.name) })
		u.call("WriteFile", func() error {
			return u.l.WriteFile(context.Background(), u.name, fmt.Appendf(nil, "inside %d", i), 0o644)
		})
		if dir == "" {
			continue
		}
		u.call("ReadDir", func() error { return u.readDir(dir) })
		u.call("OpenDir", func() error { return u.openDir(dir, file) })
		u.call(outsideAlone, func() error {
			if err := u.l.Remove(context.Background(), dir+"secret"); err != nil {
				return err
			}
			return escaped{dir + "secret was removed"}
		})
		u.call("WriteFile with directories", func() error { return u.makeParents(dir) })
	}
}

// call counts a call's outcome.
func (u *swapUser) call(method string, do func() error) {
	n := u.calls[method]
	if n == nil {
		n = new(tried)
		u.calls[method] = n
	}
	var leak escaped
	switch err := do(); {
	case err == nil:
		n.worked++
	case errors.As(err, &leak):
		u.leak = errors.Join(u.leak, fmt.Errorf("%s: %w", method, err))
	case errors.Is(err, fs.ErrPermission):
		n.refused++
	default: // such as a file that another user has just removed
		n.others++
	}
}

// unmet returns the methods that have not had both outcomes yet.
func (u *swapUser) unmet() (methods []string) {
	for method, n := range u.calls {
		never := method == outsideAlone               // this one works
		always := method+" "+u.name == "Remove plain" // this one removes the link itself
		if n.worked == 0 && !never || n.refused == 0 && !always {
			methods = append(methods, method)
		}
	}
	return methods
}

// outsideAlone removes a file that exists only outside.
const outsideAlone = "Remove outside"

// report fails the test for a leak, and for methods that never met a swapped link.
func (u *swapUser) report(t *testing.T) {
	t.Helper()
	if u.leak != nil {
		t.Errorf("%s: %v", u.name, u.leak)
	}
	if unmet := u.unmet(); len(unmet) > 0 {
		t.Errorf("%s: %q always had the same outcome: the swaps had no effect", u.name, unmet)
	}
	total := 0
	var list strings.Builder
	for _, method := range slices.Sorted(maps.Keys(u.calls)) {
		n := u.calls[method]
		total += n.worked + n.refused + n.others
		fmt.Fprintf(&list, "; %s %d/%d/%d", method, n.worked, n.refused, n.others)
	}
	t.Logf("%s: %d calls (worked/refused/others)%s", u.name, total, list.String())
}

// described checks the result of Stat. No file inside has the size of the one outside.
func described(info env.Info, err error) error {
	if err == nil && info.Size == int64(len(secret)) {
		return escaped{"the size of " + info.Name}
	}
	return err
}

// contents checks the content of a file.
func contents(f io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	data, err := io.ReadAll(f)
	if strings.Contains(string(data), secret) {
		return errors.Join(escaped{"the content"}, f.Close())
	}
	return errors.Join(err, f.Close())
}

func (u *swapUser) open() error { return contents(u.l.Open(context.Background(), u.name)) }

func (u *swapUser) readDir(dir string) error {
	list, err := u.l.ReadDir(context.Background(), dir)
	for _, info := range list {
		if info.Name == "secret" {
			return escaped{"the list of " + dir}
		}
	}
	return err
}

// openDir opens a directory, lists it and looks at a file in it.
func (u *swapUser) openDir(dir, file string) (err error) {
	ctx := context.Background()
	d, err := env.OpenDir(ctx, u.l, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	list, err := d.List(ctx)
	for _, entry := range list {
		if entry.Name == "secret" {
			return escaped{"the list of " + dir}
		}
	}
	node, statErr := d.Lstat(ctx, file)
	return errors.Join(err, described(node.Info, statErr), contents(d.Open(ctx, file)))
}

// makeParents writes a file whose directory must be made, and cleans up.
func (u *swapUser) makeParents(dir string) error {
	ctx := context.Background()
	if err := u.l.WriteFile(ctx, dir+"made/g", []byte("inside"), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"made/g", "made"} {
		if err := u.l.Remove(ctx, dir+name); err != nil && !errors.Is(err, fs.ErrPermission) &&
			!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
	return nil
}
