//go:build unix

package env_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// only fails the test if a directory has other entries than those named.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range list {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("%s has %q, want %q", dir, got, names)
	}
}

func TestD2_WriteThroughLinks(t *testing.T) {
	dir, extra := t.TempDir(), t.TempDir()
	write(t, dir+"/target", "old")
	if err := os.Chmod(dir+"/target", 0o640); err != nil {
		t.Fatal(err)
	}
	symlink(t, "target", dir+"/rel")
	symlink(t, dir+"/rel", dir+"/abs")
	symlink(t, "new", dir+"/dangling")
	symlink(t, extra+"/x", dir+"/other")
	l := newLocal(t, dir, env.LocalOptions{Roots: []string{extra}})
	for name, target := range map[string]string{"rel": dir + "/target", "abs": dir + "/target",
		"dangling": dir + "/new", "other": extra + "/x"} {
		if err := l.WriteFile(t.Context(), name, []byte(name), 0o600); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := readFile(t, target); got != name {
			t.Errorf("writing %s left %q in its target", name, got)
		}
		if info, err := os.Lstat(dir + "/" + name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no longer a link: %v, %v", name, info, err)
		}
	}
	if info, err := os.Stat(dir + "/target"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the target's mode is %v, %v", info.Mode(), err)
	}
	only(t, dir, "abs", "dangling", "new", "other", "rel", "target")
	only(t, extra, "x")
}

func TestD2_WriteKeepsModeAndOwner(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, dir, env.LocalOptions{})
	for mode, want := range map[os.FileMode]os.FileMode{
		0o600: 0o600, 0o777: 0o777, 0o444: 0o444, 0o755 | os.ModeSetuid | os.ModeSetgid: 0o755,
	} {
		name := filepath.Join(dir, "f")
		write(t, name, "old")
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		owned := os.Getuid() == 0
		if owned {
			if err := os.Chown(name, 12345, 54321); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(name, mode); err != nil { // chown clears set-user-id
				t.Fatal(err)
			}
		}
		if err := l.WriteFile(t.Context(), "f", []byte("new"), 0o666); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil || info.Mode() != want {
			t.Errorf("mode %v became %v, want %v (%v)", mode, info.Mode(), want, err)
		}
		if stat := info.Sys().(*syscall.Stat_t); owned && (stat.Uid != 12345 || stat.Gid != 54321) {
			t.Errorf("the owner is %d:%d", stat.Uid, stat.Gid)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

func TestD2_WriteRefusesAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, dir+"/d")
	write(t, dir+"/f", "x")
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	symlink(t, "d", dir+"/ld")
	l := newLocal(t, dir, env.LocalOptions{})
	long := strings.Repeat("n", 256)
	for _, name := range []string{"d", "ld", "fifo", ".", dir, "f/", "f/g", "x/", "no/../g", "f/../g", long,
		"line\nbreak", "nul\x00", "d/\x1b[31m", "~/f", "~"} {
		if err := l.WriteFile(t.Context(), name, []byte("y"), 0o644); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	only(t, dir, "d", "f", "fifo", "ld")
	only(t, dir+"/d")
	if got := readFile(t, dir+"/f"); got != "x" {
		t.Errorf("f was changed to %q", got)
	}
	// Names of the maximum length can be written, and so can existing ones with control characters.
	write(t, dir+"/odd\nname", "x")
	for _, name := range []string{long[:255], "odd\nname", "./~/f"} {
		if err := l.WriteFile(t.Context(), name, []byte("y"), 0o644); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// late is a context that ends after its first check, when a write has begun.
type late struct {
	context.Context
	looked *int
}

func (c late) Err() error {
	if *c.looked++; *c.looked == 1 {
		return nil
	}
	return context.Canceled
}

func TestD2_CancelledWriteLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/f", "old")
	l := newLocal(t, dir, env.LocalOptions{})
	looked := 0
	err := l.WriteFile(late{t.Context(), &looked}, "f", []byte("new"), 0o644)
	if !errors.Is(err, context.Canceled) || looked < 2 {
		t.Errorf("WriteFile: %v after %d checks of its context", err, looked)
	}
	only(t, dir, "f")
	if got := readFile(t, dir+"/f"); got != "old" {
		t.Errorf("f was changed to %q", got)
	}
}

func TestD2_OpenRefusesNonFiles(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Close(fd); err != nil {
			t.Error(err)
		}
	}()
	t.Chdir(dir)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: "socket"}); err != nil {
		t.Fatal(err)
	}
	l := newLocal(t, dir, env.LocalOptions{})
	for _, name := range []string{"fifo", "socket", ".", dir} {
		f, err := l.Open(t.Context(), name)
		if err == nil {
			t.Errorf("%s was opened (%v)", name, f.Close())
		}
	}
	// Even if the host allows everything.
	l = newLocal(t, dir, env.LocalOptions{Roots: []string{"/"}})
	symlink(t, "/proc/self/environ", dir+"/environ")
	up := strings.Repeat("../", strings.Count(dir, "/"))
	symlink(t, up+"proc/self/environ", dir+"/relative") // os.Root follows this one itself
	for _, name := range []string{"/dev/zero", "/proc/self/environ", "/sys/kernel/notes", "environ", dir + "/relative",
		up + "proc/self/environ", "/etc/../proc/1/stat"} {
		f, err := l.Open(t.Context(), name)
		if err == nil {
			t.Errorf("%s was opened (%v)", name, f.Close())
		} else if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f, err := l.Open(t.Context(), "/etc/passwd"); err != nil {
		t.Errorf("a plain file below /: %v", err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestD2_RemoveNeverTheRoot(t *testing.T) {
	base := t.TempDir()
	mkdir(t, base+"/work")
	l := newLocal(t, base+"/work", env.LocalOptions{})
	symlink(t, base, base+"/work/up")
	for _, name := range []string{".", base + "/work", base + "/work/", "./", "x/..", "../work", "up/work"} {
		if err := l.Remove(t.Context(), name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
	if err := l.Remove(t.Context(), "up"); err != nil {
		t.Errorf("the link itself: %v", err)
	}
	only(t, base, "work")
	only(t, base+"/work")
}

func TestD2_LinkLoops(t *testing.T) {
	dir := t.TempDir()
	symlink(t, "b", dir+"/a")
	symlink(t, "a", dir+"/b")
	symlink(t, dir+"/abs2/x", dir+"/abs1")
	symlink(t, dir+"/abs1/x", dir+"/abs2")
	l := newLocal(t, dir, env.LocalOptions{})
	for _, name := range []string{"a", "abs1", "abs1/f", "a/f"} {
		_, statErr := l.Stat(t.Context(), name)
		for op, err := range map[string]error{"stat": statErr, "write": l.WriteFile(t.Context(), name, nil, 0o644)} {
			if !errors.Is(err, syscall.ELOOP) {
				t.Errorf("%s %s: error %v, want ELOOP", op, name, err)
			}
		}
	}
	// A long chain that ends is not a loop.
	write(t, dir+"/0", "x")
	for i := 1; i <= 30; i++ {
		symlink(t, dir+"/"+strconv.Itoa(i-1), dir+"/"+strconv.Itoa(i))
	}
	if info, err := l.Stat(t.Context(), "30"); err != nil || info.Size != 1 {
		t.Errorf("30 links: %+v, %v", info, err)
	}
}

// A program that restores a tree may make any name; others are refused those with control
// characters.
func TestO4_AnyNames(t *testing.T) {
	const name = "line\nbreak"
	for _, any := range []bool{false, true} {
		l := newLocal(t, t.TempDir(), env.LocalOptions{AnyNames: any})
		for op, err := range map[string]error{
			"write":   l.WriteFile(t.Context(), name+"1", nil, 0o600),
			"replace": l.Replace(t.Context(), name+"2", env.NoFile, nil, 0o600),
			"mkdir":   l.Mkdir(t.Context(), name+"3", 0o700),
			"symlink": l.Symlink(t.Context(), "x", name+"4"),
		} {
			if (err == nil) != any {
				t.Errorf("%s with AnyNames %v: %v", op, any, err)
			}
		}
	}
}
