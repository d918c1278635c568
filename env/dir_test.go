package env_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
)

// wrapped is an environment that OpenDir does not know.
type wrapped struct{ *env.Local }

func (w wrapped) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if filepath.Base(name) == "hidden" {
		return nil, fs.ErrPermission
	}
	return w.Local.Open(ctx, name)
}

// A Dir of any environment shows the same files as the environment.
func TestD1_DirSeesWhatTheEnvironmentSees(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, dir+"/d/sub")
	big := strings.Repeat("0123456789", 100_000)
	for name, text := range map[string]string{"f": "text", "empty": "", "big": big, "hidden": "x", "sub/g": "below",
		"ä\n": "odd"} {
		write(t, dir+"/d/"+name, text)
	}
	symlink(t, "f", dir+"/d/link")
	l := newLocal(t, dir, env.LocalOptions{})
	for name, e := range map[string]env.Environment{"local": l, "read-only": env.ReadOnly(l), "sub": env.Sub(l, "."),
		"wrapped": wrapped{l}} {
		t.Run(name, func(t *testing.T) {
			d, err := env.OpenDir(t.Context(), e, "d")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := env.Direct(d), runtime.GOOS == "linux" && name != "wrapped"; got != want {
				t.Errorf("Direct is %v", got)
			}
			want := []env.Entry{{Name: "big"}, {Name: "empty"}, {Name: "f"}, {Name: "hidden"},
				{Name: "link", Type: fs.ModeSymlink}, {Name: "sub", Type: fs.ModeDir}, {Name: "ä\n"}}
			for range 2 {
				if got, err := d.List(t.Context()); err != nil || cmp.Diff(want, got) != "" {
					t.Fatalf("%v\n%s", err, cmp.Diff(want, got))
				}
			}
			infos, err := e.ReadDir(t.Context(), "d")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range infos {
				if got, err := d.Lstat(t.Context(), want.Name); err != nil || cmp.Diff(want, got.Info) != "" {
					t.Errorf("Lstat %s: %v\n%s", want.Name, err, cmp.Diff(want, got.Info))
				}
			}
			for name, want := range map[string]string{"f": "text", "empty": "", "big": big, "ä\n": "odd"} {
				if got := readIn(t, d, name); got != want {
					t.Errorf("%s: %.50q, want %.50q", name, got, want)
				}
			}
			sub, err := d.OpenDir(t.Context(), "sub")
			if err != nil {
				t.Fatal(err)
			}
			if got := readIn(t, sub, "g"); got != "below" {
				t.Errorf("below: %q", got)
			}
			if err := errors.Join(sub.Close(), d.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	d, err := env.OpenDir(t.Context(), wrapped{l}, "d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), "hidden"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("OpenDir bypassed a wrapper of a Local: %v", err)
	}
}

func readIn(t *testing.T, d env.Dir, name string) string {
	t.Helper()
	f, err := d.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return string(data)
}
