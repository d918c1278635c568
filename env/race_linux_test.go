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
)

var swapFor = flag.Duration("swap.for", time.Second, "how long TestD2_SwappedLinkNeverEscapes swaps links")

// swap turns what is at the paths into what is aside and back, and a third one into a link and back into a file, until stop
// is closed, and returns how often. The exchange is atomic, so that something is always there; the file is made anew each time,
// since a write that has looked before the link came replaces the link.
func swap(paths, asides [2]string, file, target string, stop <-chan struct{}) (rounds int, err error) {
	for {
		for i := range paths {
			if err := unix.Renameat2(unix.AT_FDCWD, paths[i], unix.AT_FDCWD, asides[i], unix.RENAME_EXCHANGE); err != nil {
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

// memoryDir is a directory in memory if there is one, where files change places seventy times as often as on a disk.
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

// While a directory turns into a link to the outside and back, an absolute link into the inside turns into one to the outside
// and back, and a file turns into a link: nothing outside is read, described, listed, written or removed.
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
		rounds, err = swap([2]string{work + "/d", work + "/abs"}, [2]string{base + "/swap1", base + "/swap2"}, work+"/plain", outside+"/e/f", stop)
		swapped <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), *swapFor)
	defer cancel()
	patience, giveUp := context.WithTimeout(t.Context(), *swapFor+30*time.Second)
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

	only(t, work, "abs", "d", "inside", "plain") // no temporary file either
	only(t, outside, "e")
	only(t, outside+"/e", "f", "secret")
	for _, name := range []string{"/e/f", "/e/secret"} {
		if got := readFile(t, outside+name); got != secret {
			t.Errorf("%s has become %q", name, got)
		}
	}
}

// tried counts what came of the calls of one method.
type tried struct{ worked, refused, others int }

// swapUser does everything that can be done with a name.
type swapUser struct {
	l     *env.Local
	name  string
	calls map[string]*tried
	leak  error // what was seen of the outside
}

// escaped is what the check of a call returns when it saw something of the outside.
type escaped struct{ what string }

func (e escaped) Error() string { return "escaped: " + e.what }

// use does all it can with its name until the span is over and each method has met both sides of a swap, patience is over too, or
// something leaks.
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

// call counts how a call came out.
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

// unmet names the methods that did not come out in both ways yet, as a swap that comes in between makes them.
func (u *swapUser) unmet() (methods []string) {
	for method, n := range u.calls {
		never := method == outsideAlone               // works
		always := method+" "+u.name == "Remove plain" // of a link removes the link
		if n.worked == 0 && !never || n.refused == 0 && !always {
			methods = append(methods, method)
		}
	}
	return methods
}

// outsideAlone is to remove what there is only outside.
const outsideAlone = "Remove outside"

// report fails the test for a leak, and for methods that never met a swapped link.
func (u *swapUser) report(t *testing.T) {
	t.Helper()
	if u.leak != nil {
		t.Errorf("%s: %v", u.name, u.leak)
	}
	if unmet := u.unmet(); len(unmet) > 0 {
		t.Errorf("%s: %q always came out the same: the swapping did not happen", u.name, unmet)
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

// described checks a description. The size of what is outside is that of nothing inside.
func described(info env.Info, err error) error {
	if err == nil && info.Size == int64(len(secret)) {
		return escaped{"the size of " + info.Name}
	}
	return err
}

// contents checks what is read.
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

// openDir lists a directory that stays open, and looks at a file in it.
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
	return errors.Join(err, described(d.Stat(ctx, file)), contents(d.Open(ctx, file)))
}

// makeParents writes where the directory has to be made, and cleans up.
func (u *swapUser) makeParents(dir string) error {
	ctx := context.Background()
	if err := u.l.WriteFile(ctx, dir+"made/g", []byte("inside"), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"made/g", "made"} {
		if err := u.l.Remove(ctx, dir+name); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
	return nil
}
