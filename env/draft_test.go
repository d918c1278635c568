package env_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// A draft shows what was done to it, and the files stay as they are.
func TestX2_Draft(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o640),
		os.Symlink("a", filepath.Join(dir, "link")),
		os.WriteFile(filepath.Join(dir, "gone"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d := env.Draft(newLocal(t, dir, env.LocalOptions{}))
	read := func(name string) string {
		t.Helper()
		f, err := d.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		data, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if err := errors.Join(env.Replace(t.Context(), d, "link", env.HashOf([]byte("old")), []byte("new"), 0o644),
		d.WriteFile(t.Context(), "sub/b", []byte("b"), 0o644),
		env.Delete(t.Context(), d, "gone", env.HashOf([]byte("x")))); err != nil {
		t.Fatal(err)
	}
	if read("a") != "new" || read(filepath.Join(dir, "link")) != "new" || read("sub/b") != "b" {
		t.Errorf("the draft has %q, %q", read("a"), read("sub/b"))
	}
	if info, err := d.Stat(t.Context(), "a"); err != nil || info.Mode != 0o640 || info.Size != 3 {
		t.Errorf("%+v, %v", info, err)
	}
	_, err := d.Open(t.Context(), "gone")
	if _, statErr := d.Stat(t.Context(), "gone"); !errors.Is(err, fs.ErrNotExist) ||
		!errors.Is(statErr, fs.ErrNotExist) {
		t.Errorf("a removed file: %v, %v", err, statErr)
	}
	if err := env.Replace(t.Context(), d, "a", env.HashOf([]byte("old")), nil, 0o644); !errors.Is(err, env.ErrChanged) {
		t.Errorf("another content: %v", err)
	}
	if err := d.WriteFile(t.Context(), ".", nil, 0o644); err == nil {
		t.Error("a directory was written")
	}
	if _, err := d.Start(t.Context(), env.Command{Script: "touch x"}); err == nil {
		t.Error("a command was started")
	}
	names, err := os.ReadDir(dir)
	if data, _ := os.ReadFile(filepath.Join(dir, "a")); err != nil || len(names) != 3 || string(data) != "old" {
		t.Errorf("the files are %v, %q, %v", names, data, err)
	}
}
