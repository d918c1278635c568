package env_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// readOnlyDirs makes a working directory that contains a read-only directory, which contains a
// writable one, and a read-only directory beside it:
//
//	work/            ro/rw/inner/      beside/
func readOnlyDirs(t *testing.T) (l *env.Local, dir string) {
	dir = t.TempDir()
	for _, name := range []string{"work/sub", "work/ro/deep", "work/ro/rw/inner", "beside/sub"} {
		mkdir(t, filepath.Join(dir, name))
	}
	for _, name := range []string{"work/f", "work/ro/f", "work/ro/deep/f", "work/ro/rw/f", "work/ro/rw/inner/f",
		"beside/f"} {
		write(t, filepath.Join(dir, name), "old")
	}
	work := filepath.Join(dir, "work")
	l = newLocal(t, work, env.LocalOptions{Roots: []string{filepath.Join(work, "ro/rw")},
		ReadOnly: []string{filepath.Join(work, "ro"), filepath.Join(dir, "beside"),
			filepath.Join(work, "ro/rw/inner")}})
	return l, dir
}

// changes returns the errors of all operations that change a file. The file exists unless it is
// called new.
func changes(t *testing.T, l env.Environment, name string) map[string]error {
	t.Helper()
	r, tree := l.(env.Replacer), env.TreeOf(l)
	was := env.HashOf([]byte("old"))
	dir := filepath.ToSlash(filepath.Dir(name))
	return map[string]error{
		"write":        l.WriteFile(t.Context(), name, []byte("lost"), 0o644),
		"replace":      r.Replace(t.Context(), name, was, []byte("lost"), 0o644),
		"delete":       r.Delete(t.Context(), name, was),
		"remove":       l.Remove(t.Context(), name),
		"create":       l.WriteFile(t.Context(), dir+"/new", nil, 0o644),
		"create below": l.WriteFile(t.Context(), dir+"/new/deep/f", nil, 0o644),
		"replace none": r.Replace(t.Context(), dir+"/new", env.NoFile, nil, 0o644),
		"symlink":      tree.Symlink(t.Context(), "f", dir+"/new"),
		"mkdir":        tree.Mkdir(t.Context(), dir+"/new", 0o755),
		"chmod":        tree.Chmod(t.Context(), name, 0o600),
		"chmod dir":    tree.Chmod(t.Context(), dir, 0o700),
	}
}

func TestJ9_ReadOnlyRootsAreOnlyRead(t *testing.T) {
	l, dir := readOnlyDirs(t)
	symlink(t, "ro/deep", filepath.Join(dir, "work/link"))
	symlink(t, filepath.Join(dir, "beside"), filepath.Join(dir, "work/out"))
	symlink(t, "../ro/deep/f", filepath.Join(dir, "work/sub/flink"))
	for name, root := range map[string]string{
		"ro/f": "work/ro", "ro/deep/f": "work/ro", "sub/../ro/deep/f": "work/ro", "link/f": "work/ro",
		filepath.Join(dir, "beside/f"):  "beside",
		filepath.Join(dir, "work/ro/f"): "work/ro", "out/f": "beside", "ro/rw/inner/f": "work/ro/rw/inner",
		"ro/rw/../deep/f": "work/ro",
	} {
		for op, err := range changes(t, l, name) {
			var of *fs.PathError
			if !errors.Is(err, fs.ErrPermission) || !errors.As(err, &of) {
				t.Errorf("%s of %s: %v, want a refusal", op, name, err)
				continue
			}
			if text := err.Error(); !strings.Contains(text, filepath.Join(dir, root)+"/ is read-only") ||
				!strings.Contains(text, "choose a path in "+filepath.Join(dir, "work")+"/, "+filepath.Join(dir,
					"work/ro/rw")+"/") {
				t.Errorf("%s of %s: %q does not name the directory and say what to do", op, name, text)
			}
		}
		if data, err := readAll(t, l, name); err != nil || data != "old" {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	// A link itself can be removed; the file it leads to is protected.
	if err := l.WriteFile(t.Context(), "sub/flink", []byte("lost"), 0o644); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("written through a link: %v", err)
	}
	if err := l.Remove(t.Context(), "sub/flink"); err != nil {
		t.Errorf("remove a link into a read-only directory: %v", err)
	}
	for _, name := range []string{"ro", "ro/rw", "ro/rw/inner", filepath.Join(dir, "work"),
		filepath.Join(dir, "beside"), "."} {
		if err := l.Remove(t.Context(), name); err == nil {
			t.Errorf("the root %s was removed", name)
		}
	}
	unchanged(t, dir, "work/ro", "work/ro/deep", "work/ro/rw/inner", "beside")
}

// A read-only directory remains one under another name: it is identified by os.SameFile.
func TestJ9_ReadOnlyUnderAnotherName(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "ro/sub"))
	write(t, filepath.Join(dir, "ro/sub/f"), "old")
	l := newLocal(t, dir, env.LocalOptions{ReadOnly: []string{filepath.Join(dir, "ro")}})
	if err := os.Rename(filepath.Join(dir, "ro"), filepath.Join(dir, "other")); err != nil {
		t.Fatal(err)
	}
	for op, err := range changes(t, l, "other/sub/f") {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, want a refusal", op, err)
		}
	}
	if err := l.Chmod(t.Context(), "other", 0o700); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("chmod of the directory itself: %v, want a refusal", err)
	}
	unchanged(t, dir, "other/sub")
}

// unchanged checks the names in a directory.
func unchanged(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if readFile(t, filepath.Join(dir, name, "f")) != "old" {
			t.Errorf("%s/f was changed", name)
		}
		if _, err := os.Lstat(filepath.Join(dir, name, "new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s has new entries: %v", name, err)
		}
	}
}

func TestJ9_WritableInsideOfReadOnly(t *testing.T) {
	l, dir := readOnlyDirs(t)
	for _, name := range []string{"f", "ro/rw/f", filepath.Join(dir, "work/ro/rw/f"), "sub/../ro/rw/f", "ro/rw/new/f"} {
		if err := l.WriteFile(t.Context(), name, []byte("new"), 0o644); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
		if data, err := readAll(t, l, name); err != nil || data != "new" {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	if err := errors.Join(l.Remove(t.Context(), "ro/rw/new/f"), l.Remove(t.Context(), "ro/rw/new"),
		l.Remove(t.Context(), "sub")); err != nil {
		t.Error(err)
	}
	_, err := l.Stat(t.Context(), "/etc/passwd")
	if want := filepath.Join(dir, "beside") + "/ (read-only)"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the refusal %q does not say that %s", err, want)
	}
}

// A read-only working directory passes the suite as an environment that lacks writing, with
// commands.
func TestJ9_ReadOnlyWorkDirPassesTheSuite(t *testing.T) {
	t.Parallel()
	var other *env.Local
	envtest.SuiteWith(t, func(t *testing.T) env.Environment {
		dir := t.TempDir()
		other = newLocal(t, dir, env.LocalOptions{})
		return newLocal(t, dir, env.LocalOptions{ReadOnly: []string{dir + "/."}})
	}, envtest.Options{Lacks: map[envtest.Feature]string{envtest.Writing: "the directory is read-only"},
		Arrange: func(env.Environment) env.Environment { return other }})
	dir := t.TempDir()
	err := newLocal(t, dir, env.LocalOptions{ReadOnly: []string{dir}}).WriteFile(t.Context(), "f", nil, 0o644)
	if err == nil || !strings.Contains(err.Error(), "so is every allowed directory") {
		t.Errorf("the refusal is %v", err)
	}
}

// A Local with a read-only directory inside passes the suite.
func TestJ9_LocalWithReadOnlyDirPassesTheSuite(t *testing.T) {
	t.Parallel()
	envtest.Suite(t, func(t *testing.T) env.Environment {
		dir := t.TempDir()
		mkdir(t, filepath.Join(dir, "ro"))
		mkdir(t, filepath.Join(dir, "work"))
		return newLocal(t, filepath.Join(dir, "work"),
			env.LocalOptions{ReadOnly: []string{dir}, Roots: []string{filepath.Join(dir, "work")}})
	})
}

func TestJ9_ReadOnlyRootsAreChecked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "x")
	for _, bad := range []string{filepath.Join(dir, "missing"), filepath.Join(dir, "f")} {
		if l, err := env.NewLocal(dir, env.LocalOptions{ReadOnly: []string{bad}}); err == nil {
			t.Errorf("NewLocal accepted %s: %v", bad, l.Close())
		}
	}
	// A directory in both lists is read-only under any name.
	symlink(t, dir, filepath.Join(t.TempDir(), "link"))
	l := newLocal(t, t.TempDir(), env.LocalOptions{Roots: []string{dir}, ReadOnly: []string{dir}})
	if err := l.WriteFile(t.Context(), filepath.Join(dir, "f"), nil, 0o644); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("written: %v", err)
	}
	// No lock is needed for a file that cannot be changed.
	unlock, err := l.Lock(t.Context(), filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	again, err := l.Lock(t.Context(), filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// readAll returns the content of a file.
func readAll(t *testing.T, e env.Environment, name string) (_ string, err error) {
	t.Helper()
	f, err := e.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(f)
	return string(data), err
}
