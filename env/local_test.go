package env_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/parallel"
)

// TestMain fails if a goroutine outlives the package's tests.
func TestMain(m *testing.M) {
	orphans.Adopt()
	parallel.Tests(8)
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) { os.Exit(orphans.Check(code)) }))
}

// testGrace suffices for a process to handle TERM, and tests can wait for it.
const testGrace = 300 * time.Millisecond

// newLocal returns an environment that is closed at the end of the test.
func newLocal(t testing.TB, dir string, opts env.LocalOptions) *env.Local {
	t.Helper()
	if opts.Grace == 0 {
		opts.Grace = testGrace
	}
	l, err := env.NewLocal(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	env.SetSettle(l, await.Limit)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return l
}

func TestD1_LocalPassesTheSuite(t *testing.T) {
	t.Parallel()
	envtest.Suite(t, func(t *testing.T) env.Environment { return newLocal(t, t.TempDir(), env.LocalOptions{}) })
}

func TestD1_SubPassesTheSuite(t *testing.T) {
	t.Parallel()
	envtest.Suite(t, func(t *testing.T) env.Environment {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
			t.Fatal(err)
		}
		return env.Sub(newLocal(t, dir, env.LocalOptions{}), "a/b/")
	})
}

func TestD2_NewLocalNeedsADirectory(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write(t, file, "x")
	for name, c := range map[string]struct {
		dir   string
		roots []string
	}{
		"missing":      {filepath.Join(dir, "missing"), nil},
		"file":         {file, nil},
		"missing root": {dir, []string{filepath.Join(dir, "missing")}},
		"file as root": {dir, []string{file}},
		"proc":         {"/proc/self", nil},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := env.NewLocal(c.dir, env.LocalOptions{Roots: c.roots})
			if err == nil {
				t.Fatal("NewLocal succeeded", l.Close())
			}
			named := c.dir
			if len(c.roots) > 0 {
				named = c.roots[0]
			}
			if !strings.Contains(err.Error(), filepath.Base(named)) {
				t.Errorf("the error does not name the directory: %v", err)
			}
		})
	}
}

func TestD2_WorkDirBySymlink(t *testing.T) {
	base := t.TempDir()
	real, link := filepath.Join(base, "real"), filepath.Join(base, "link")
	mkdir(t, real)
	symlink(t, real, link)
	l := newLocal(t, link, env.LocalOptions{})
	if l.WorkDir() != filepath.ToSlash(link) {
		t.Errorf("WorkDir %q, want it as given", l.WorkDir())
	}
	for _, name := range []string{"f", link + "/f", real + "/f", link + "/./x/../f", base + "/real/f"} {
		mkdir(t, filepath.Join(real, "x"))
		if err := l.WriteFile(t.Context(), name, []byte(name), 0o644); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := readFile(t, filepath.Join(real, "f")); got != name {
			t.Errorf("%s was written elsewhere", name)
		}
	}
	var out capture.Buffer
	result, err := env.Run(t.Context(), l, env.Command{Script: "pwd", Output: out.Write}, 0)
	if err != nil || result.Code != 0 || out.Text() != link+"\n" {
		t.Errorf("a command runs in %q: %+v, %v", out.Text(), result, err)
	}
}

func TestD2_ExtraRoots(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"work/sub", "extra/sub", "other"} {
		mkdir(t, filepath.Join(base, d))
	}
	write(t, base+"/extra/sub/f", "extra")
	write(t, base+"/other/f", "other")
	symlink(t, base+"/extra/sub", base+"/work/abs")
	symlink(t, "../extra/sub", base+"/work/rel")
	symlink(t, base+"/work/abs", base+"/extra/back")
	symlink(t, base+"/other", base+"/work/out")
	l := newLocal(t, base+"/work", env.LocalOptions{Roots: []string{base + "/extra"}})
	for _, name := range []string{base + "/extra/sub/f", "abs/f", "rel/f", "../extra/sub/f", "sub/../../extra/back/f",
		"abs/../sub/f"} {
		f, err := l.Open(t.Context(), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		data, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil || string(data) != "extra" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	for _, name := range []string{base + "/other/f", "../other/f", "out/f", "rel/../../other/f",
		base + "/extra/../other/f", base + "/extrafalse"} {
		_, err := l.Open(t.Context(), name)
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: error %v, want a refusal", name, err)
			continue
		}
		for _, part := range []string{name, base + "/work/", base + "/extra/"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not name %s: %v", part, err)
			}
		}
	}
}

func TestD2_NestedRoots(t *testing.T) {
	base := t.TempDir()
	mkdir(t, base+"/in/work")
	write(t, base+"/in/f", "outer")
	l := newLocal(t, base+"/in/work", env.LocalOptions{Roots: []string{base + "/in"}})
	for _, name := range []string{"../f", base + "/in/f", base + "/in/work/../f"} {
		if info, err := l.Stat(t.Context(), name); err != nil || info.Size != 5 {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	for _, name := range []string{"../..", "../../in"} {
		if _, err := l.Stat(t.Context(), name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: error %v, want a refusal", name, err)
		}
	}
}

func TestD1_Close(t *testing.T) {
	dir := t.TempDir()
	l, err := env.NewLocal(dir, env.LocalOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Start(t.Context(), env.Command{Script: "sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Signal == "" {
		t.Errorf("after Close the command is %+v, %v", exit, err)
	}
	_, err = l.Start(t.Context(), env.Command{Script: "true"})
	if !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Start after Close: %v", err)
	}
	if _, err := l.Stat(t.Context(), "."); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Stat after Close: %v", err)
	}
}

func TestD1_OpenSeeks(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	if err := l.WriteFile(context.Background(), "f", []byte("0123456789"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := l.Open(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	at, ok := f.(io.ReaderAt)
	if _, seeks := f.(io.Seeker); !ok || !seeks {
		t.Fatalf("%T does not seek", f)
	}
	b := make([]byte, 3)
	if _, err := at.ReadAt(b, 4); err != nil || string(b) != "456" {
		t.Errorf("ReadAt: %q, %v", b, err)
	}
}

func TestD1_PlatformAndContainment(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	p := l.Platform()
	if p.Version == "" || !filepath.IsAbs(p.Shell) {
		t.Errorf("Platform %+v", p)
	}
	for _, e := range []env.Environment{l, env.ReadOnly(l), env.Sub(l, "x")} {
		if got := env.ConfinementOf(e).Containment; got != l.Confinement().Containment || got == "unknown" {
			t.Errorf("Containment of %T is %q", e, got)
		}
	}
}

func write(t testing.TB, name, data string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mkdir(t testing.TB, name string) {
	t.Helper()
	if err := os.MkdirAll(name, 0o755); err != nil {
		t.Fatal(err)
	}
}

func symlink(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
