package checkpoint_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// oneOfEach returns a directory's entries of every kind.
func oneOfEach() []checkpoint.Entry {
	object := env.HashOf([]byte("x"))
	return []checkpoint.Entry{
		{Name: "\x01", Mode: 0o644, Object: object, Size: 1},
		{Name: "dir", Mode: fs.ModeDir | 0o700, Object: object},
		{Name: "fifo", Mode: fs.ModeNamedPipe | 0o600},
		{Name: "large", Mode: 0o600},
		{Name: "link", Mode: fs.ModeSymlink, Target: "to\n\xff"},
		{Name: "unreadable", Mode: fs.ModeDir},
		{Name: "\xff\xfe", Mode: 0, Object: object, Size: 1 << 40},
	}
}

// TestO3_DirectoryObjects checks that entries come back from their encoding as they were, and what
// its bytes are: a tree's root must never mean another tree.
func TestO3_DirectoryObjects(t *testing.T) {
	data, err := checkpoint.EncodeDir(oneOfEach())
	must(t, err)
	got, err := checkpoint.DecodeDir(data)
	if diff := gocmp.Diff(oneOfEach(), got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	sum, err := hex.DecodeString(string(env.HashOf([]byte("x"))))
	must(t, err)
	x := string(sum)
	want := "attractor directory 1\n" + "f\xa4\x03\x01\x01\x01" + x + "d\xc0\x03\x03dir" + x +
		"x\x80\x83\x80\x10\x04fifo" + "x\x80\x03\x05large" + "l\x00\x04link\x04to\n\xff" +
		"x\x80\x80\x80\x80\x08\x0aunreadable" + "f\x00\x02\xff\xfe\x80\x80\x80\x80\x80\x20" + x
	if string(data) != want {
		t.Errorf("%q, want\n%q", data, want)
	}
}

// TestO3_WrongDirectories checks what is no directory.
func TestO3_WrongDirectories(t *testing.T) {
	object := env.HashOf(nil)
	for name, entries := range map[string][]checkpoint.Entry{
		"twice": {{Name: "a", Object: object}, {Name: "a", Object: object}}, "order": {{Name: "b", Object: object},
			{Name: "a", Object: object}},
		"empty": {{Object: object}}, "dot": {{Name: ".", Object: object}}, "dots": {{Name: "..", Object: object}},
		"slash": {{Name: "a/b", Object: object}},
		"nul":   {{Name: "a\x00", Object: object}}, "hash": {{Name: "a", Object: "abc"}},
		"no hash": {{Name: "a", Object: env.Hash(strings.Repeat("x", 64))}},
	} {
		if data, err := checkpoint.EncodeDir(entries); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	good, err := checkpoint.EncodeDir(oneOfEach())
	must(t, err)
	for n := range good {
		if n == len("attractor directory 1\n") {
			continue // it is empty
		}
		if got, err := checkpoint.DecodeDir(good[:n]); err == nil && n < len(good) {
			if again, err := checkpoint.EncodeDir(got); err != nil || !bytes.Equal(again, good[:n]) {
				t.Errorf("the first %d bytes: %+v, %v", n, got, err)
			}
		}
	}
	for name, text := range map[string]string{"other": "text", "version": "attractor directory 2\n",
		"not minimal":      "attractor directory 1\nl\x80\x00\x01a\x01b",
		"a mode of a link": "attractor directory 1\nl\x01\x01a\x01b", "kind": "attractor directory 1\nz\x00\x01a",
		"a size below zero": "attractor directory 1\nf\x00\x01a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" +
			strings.Repeat("h", 32),
		"a mode with a kind": "attractor directory 1\nf\x80\x80\x80\x80\x08\x01a\x01" + strings.Repeat("h", 32),
		"long":               "attractor directory 1\nl\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7fa"} {
		if got, err := checkpoint.DecodeDir([]byte(text)); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestO3_Lookup looks for paths in a tree.
func TestO3_Lookup(t *testing.T) {
	e, _ := newLocal(t, map[string]string{"a": "1", "d/e/f": "2", "l": "->d"})
	store := newMemory()
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
	for name, want := range map[string]bool{"a": true, "d": true, "d/e": true, "d/e/f": true, "l": true, "b": false,
		"d/e/g": false, "a/b": false, "l/e": false, "x/y": false} {
		got, err := checkpoint.Lookup(t.Context(), store, tree.Root, name)
		if err != nil || (got != nil) != want || got != nil && got.Name != filepath.Base(name) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if _, err := checkpoint.Lookup(t.Context(), store, env.HashOf([]byte("1")), "a"); err == nil {
		t.Error("a file was taken for a directory")
	}
	if _, err := checkpoint.ReadDirObject(t.Context(), store, env.HashOf([]byte("unknown"))); !errors.Is(err,
		fs.ErrNotExist) {
		t.Errorf("an unknown object: %v", err)
	}
}

// FuzzO3_Directory decodes arbitrary objects: what is accepted has only one encoding.
func FuzzO3_Directory(f *testing.F) {
	good, err := checkpoint.EncodeDir(oneOfEach())
	must(f, err)
	f.Add(good)
	f.Add([]byte("attractor directory 1\n"))
	f.Add([]byte("attractor directory 1\nl\x00\x01a\x01b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := checkpoint.DecodeDir(data)
		if err != nil {
			return
		}
		if again, err := checkpoint.EncodeDir(entries); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%q is %+v, which is %q (%v)", data, entries, again, err)
		}
	})
}

// FuzzO3_Index reads arbitrary files of an index.
func FuzzO3_Index(f *testing.F) {
	e, _ := newLocal(f, map[string]string{"a": "1", "d/e/f": "2", "l": "->d"})
	index := filepath.Join(f.TempDir(), "index")
	r := checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: newMemory(), Owner: "o", Index: index})
	_, err := r.Record(f.Context(), e)
	must(f, err)
	must(f, r.Close())
	data, err := os.ReadFile(index)
	must(f, err)
	data = data[:len(data)-32]
	if n, err := checkpoint.IndexOf(data, index); err != nil || n != 5 {
		f.Fatalf("%d entries, %v", n, err)
	}
	f.Add(data)
	f.Add([]byte("attractor index 1\n\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := checkpoint.IndexOf(data, index); err != nil {
			t.Errorf("%q: %v", data, err)
		}
	})
}
