package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/search"
)

// local returns an environment of this machine.
func local(t testing.TB, dir string) *env.Local {
	t.Helper()
	l, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Errors have the text and the kinds that they have over there.
func TestO1_ErrorsAreTheSame(t *testing.T) {
	dir := t.TempDir()
	here, there := local(t, dir), open(t, remote.Options{Dir: dir, ReadOnly: []string{t.TempDir()}})
	write(t, dir, "file", "x")
	write(t, dir, "full/file", "x")
	if err := os.Symlink("/", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("n", 300)
	ops := map[string]func(context.Context, env.Environment) error{
		"missing": func(ctx context.Context, e env.Environment) error {
			_,
				err := e.Stat(ctx, "missing")
			return err
		},
		"below file": func(ctx context.Context, e env.Environment) error {
			_,
				err := e.Open(ctx, "file/a")
			return err
		},
		"directory": func(ctx context.Context, e env.Environment) error { _, err := e.Open(ctx, "full"); return err },
		"not empty": func(ctx context.Context, e env.Environment) error { return e.Remove(ctx, "full") },
		"long":      func(ctx context.Context, e env.Environment) error { return e.WriteFile(ctx, long, nil, 0o644) },
		"outside": func(ctx context.Context, e env.Environment) error {
			_, err := e.Stat(ctx, "out/etc/passwd")
			return err
		},
		"no name": func(ctx context.Context, e env.Environment) error { _, err := e.ReadDir(ctx, ""); return err },
		"control": func(ctx context.Context, e env.Environment) error { return e.WriteFile(ctx, "a\nb", nil, 0o644) },
		"exists": func(ctx context.Context, e env.Environment) error {
			return env.TreeOf(e).Mkdir(ctx, "full", 0o755)
		},
		"no link": func(ctx context.Context, e env.Environment) error {
			_, err := env.TreeOf(e).Readlink(ctx, "file")
			return err
		},
		"changed": func(ctx context.Context, e env.Environment) error {
			return e.(env.Replacer).Replace(ctx, "file", env.HashOf([]byte("y")), nil, 0)
		},
		"no dir": func(ctx context.Context, e env.Environment) error {
			_, err := e.Start(ctx, env.Command{Script: ":", Dir: "missing"})
			return err
		},
		"bad pattern": func(ctx context.Context, e env.Environment) error {
			_, err := search.Grep(ctx, e, search.Query{Pattern: "("})
			return err
		},
		"bad glob": func(ctx context.Context, e env.Environment) error {
			_, err := search.Glob(ctx, e, "[", "")
			return err
		},
		"no list": func(ctx context.Context, e env.Environment) error {
			d, err := env.OpenDir(ctx, e, "missing")
			if err == nil {
				_, err = d.List(ctx)
			}
			return err
		},
	}
	kinds := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed, env.ErrChanged,
		env.ErrLocked, env.ErrReadOnly, errors.ErrUnsupported,
		context.Canceled, syscall.ENOTDIR, syscall.EISDIR, syscall.ENOTEMPTY, syscall.ENAMETOOLONG, syscall.ENOENT}
	for name, op := range ops {
		want, got := op(t.Context(), here), op(t.Context(), there)
		if want == nil || got == nil {
			t.Errorf("%s: here %v, there %v", name, want, got)
			continue
		}
		if name != "no list" && name != "outside" && want.Error() != got.Error() {
			t.Errorf("%s: there %q, here %q", name, got, want)
		}
		for _, kind := range kinds {
			if errors.Is(want, kind) != errors.Is(got, kind) {
				t.Errorf("%s: there %v, is %v: %t, not as here", name, got, kind, errors.Is(got, kind))
			}
		}
		var wantPath, gotPath *fs.PathError
		if errors.As(want, &wantPath) && (!errors.As(got, &gotPath) || wantPath.Path != gotPath.Path) &&
			name != "no dir" {
			t.Errorf("%s: there %#v, here %#v", name, got, want)
		}
	}
}

func write(t testing.TB, dir, name, data string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Searches over there find what they would here.
func TestO1_SearchesAreTheSame(t *testing.T) {
	dir := t.TempDir()
	here, there := local(t, dir), open(t, remote.Options{Dir: dir})
	for i := range 300 {
		write(t, dir, fmt.Sprintf("d%d/e%d/f%d.go", i%7, i%3, i),
			strings.Repeat(fmt.Sprintf("line %d of\xff func\r\n", i), i%9)+strings.Repeat("long ", i*5)+"needle\n")
	}
	write(t, dir, ".gitignore", "d3/\n*.log\n")
	write(t, dir, "d1/x.log", "needle")
	write(t, dir, "bin", "needle\x00")
	for _, q := range []search.Query{{Pattern: "needle"}, {Pattern: "NEEDLE", IgnoreCase: true, Max: 17},
		{Pattern: "line 1?5", Mode: search.Counts}, {Pattern: "func", Mode: search.Files, Max: 3},
		{Pattern: "line", Glob: "*7.go", Before: 1, After: 2}, {Pattern: "needle", Path: "d2"},
		{Pattern: "nothing here"}, {Pattern: "x", Path: "missing"}, {Pattern: `\xff`, Max: 5}} {
		want, wantErr := search.Grep(t.Context(), here, q)
		got, err := search.Grep(t.Context(), there, q)
		if !reflect.DeepEqual(want, got) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%+v: %v\n%+v\nwant %v\n%+v", q, err, got, wantErr, want)
		}
	}
	for _, pattern := range []string{"**/*.go", "*.none", "d{1,2}/**", ".gitignore"} {
		want, wantErr := search.Glob(t.Context(), here, pattern, "")
		got, err := search.Glob(t.Context(), there, pattern, "")
		if len(want.Files) != len(got.Files) || err != nil || wantErr != nil {
			t.Errorf("%s: %d files, want %d: %v, %v", pattern, len(got.Files), len(want.Files), err, wantErr)
			continue
		}
		for i, f := range want.Files {
			if g := got.Files[i]; f.Path != g.Path || f.Size != g.Size || !f.ModTime.Equal(g.ModTime) {
				t.Errorf("%s: %+v, want %+v", pattern, g, f)
			}
		}
	}
}

// Names, targets and contents of any bytes arrive as they are, and so do times that RFC 3339 cannot
// say.
func TestO1_AnyBytes(t *testing.T) {
	dir := t.TempDir()
	e := open(t, remote.Options{Dir: dir})
	name, content := "caf\xe9 \xff\u2028<&>", strings.Repeat("\x00\xff\r\n", 100_000)
	if err := e.WriteFile(t.Context(), name, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || string(data) != content {
		t.Fatalf("over there are %d bytes: %v", len(data), err)
	}
	at := time.Unix(300_000_000_000, 123456789) // year 11476
	if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
		t.Fatal(err)
	}
	info, err := e.Stat(t.Context(), name)
	real, errReal := os.Stat(filepath.Join(dir, name))
	if err = errors.Join(err, errReal); err != nil || info.Name != name || !info.ModTime.Equal(real.ModTime()) ||
		info.Mode != 0o640 {
		t.Errorf("%+v, %v; the file has %v", info, err, real.ModTime())
	}
	if err := e.Symlink(t.Context(), "to\xfe", "link"); err != nil {
		t.Error(err)
	}
	if target, err := e.Readlink(t.Context(), "link"); err != nil || target != "to\xfe" {
		t.Errorf("%q, %v", target, err)
	}
	list, err := e.ReadDir(t.Context(), ".")
	if err != nil || len(list) != 2 || list[0].Name != name {
		t.Errorf("%+v, %v", list, err)
	}
	var out bytes.Buffer
	p, err := e.Start(t.Context(), env.Command{Script: "printf '\\377\\000'; cat \"$F\"", Env: []string{"F=" + name},
		Output: func(_ int, p []byte) { out.Write(p) }})
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 0 || out.String() != "\xff\x00"+content {
		t.Errorf("%+v, %v, %d bytes", exit, err, out.Len())
	}
}

// Two hundred operations run at once over one connection. A command whose output nobody takes makes
// only itself wait.
func TestO2_TwoHundredAtOnce(t *testing.T) {
	dir := t.TempDir()
	e := open(t, remote.Options{Dir: dir})
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 1<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	hold, taken := make(chan struct{}), make(chan struct{})
	slow, err := e.Start(t.Context(), env.Command{Script: "head -c 3000000 /dev/zero", Output: func(int, []byte) {
		select {
		case taken <- struct{}{}:
		default:
		}
		<-hold
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-taken
	var files []io.ReadCloser
	for range 160 { // each is in the middle of its content
		f, err := e.Open(t.Context(), "large")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	var commands []env.Process
	var ends sync.WaitGroup
	for range 40 {
		p, err := e.Start(t.Context(), env.Command{Script: "read x; exit $x", Stdin: true})
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, p)
	}
	for i, p := range commands {
		ends.Go(func() {
			_, err := fmt.Fprintln(p.Stdin(), i)
			exit, errWait := p.Wait(t.Context())
			if err = errors.Join(err, errWait); err != nil || exit.Code != i {
				t.Errorf("command %d: %+v, %v", i, exit, err)
			}
		})
	}
	for _, f := range files {
		ends.Go(func() {
			n, err := io.Copy(io.Discard, f)
			if err = errors.Join(err, f.Close()); err != nil || n != 1<<20 {
				t.Errorf("read %d bytes: %v", n, err)
			}
		})
	}
	ends.Wait()
	close(hold)
	if exit, err := slow.Wait(t.Context()); err != nil || exit.Code != 0 {
		t.Errorf("%+v, %v", exit, err)
	}
}

// The end of an operation's context ends the operation over there.
func TestO1_CanceledOverThere(t *testing.T) {
	dir := t.TempDir()
	e, holder := open(t, remote.Options{Dir: dir}), local(t, dir)
	unlock, err := holder.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	waits := make(chan error, 1)
	go func() {
		_, err := e.Lock(ctx, "a")
		waits <- err
	}()
	if _, err := e.Stat(t.Context(), "."); err != nil { // the lock was asked for before, or will be canceled before
		t.Error(err)
	}
	cancel(gone)
	if err := <-waits; !errors.Is(err, gone) {
		t.Errorf("Lock: %v", err)
	}
	unlock()
	again, err := holder.Lock(t.Context(), "a") // nobody over there has it
	if err != nil {
		t.Fatal(err)
	}
	again()
	if err := e.WriteFile(ctx, "file", []byte("x"), 0o644); !errors.Is(err, gone) {
		t.Errorf("WriteFile: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "file")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a canceled write has made the file: %v", err)
	}
	if _, err := e.Start(ctx, env.Command{Script: "sleep 1000"}); !errors.Is(err, gone) {
		t.Errorf("Start: %v", err)
	}
}

// A file above the limit is refused before anything is sent, and a large one arrives.
func TestO1_LargeFiles(t *testing.T) {
	dir := t.TempDir()
	e := open(t, remote.Options{Dir: dir})
	if err := e.WriteFile(t.Context(), "a", make([]byte, 256<<20+1), 0o644); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("more than the limit: %v", err)
	}
	data := bytes.Repeat([]byte("0123456789abcde\n"), 1<<19)
	if err := e.WriteFile(t.Context(), "a", data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := e.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes came back: %v", len(got), err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
}

// What a command leaves running goes on after its end, and ends with a kill or with the
// environment.
func TestO1_LeftRunning(t *testing.T) {
	e := open(t, remote.Options{Dir: t.TempDir()})
	const script = `(trap 'rm alive; exit' TERM; touch alive; sleep 1000 & wait) & while [ ! -e alive ]; do sleep 0.01; done`
	start := func() env.Process {
		t.Helper()
		p, err := e.Start(t.Context(), env.Command{Script: script})
		if err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(t.Context()); err != nil || len(exit.Left) == 0 {
			t.Fatalf("%+v, %v", exit, err)
		}
		return p
	}
	p := start()
	// the far side knows that nobody listens to the command any more
	if _, err := e.Stat(t.Context(), "alive"); err != nil {
		t.Error(err)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := e.Stat(t.Context(), "alive"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a kill: %v", err)
	}
	start() // for the end of the environment
}
