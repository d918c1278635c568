package checkpoint_test

import (
	"bytes"
	"crypto/sha256"
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
	x := string(env.HashOf([]byte("x")))
	want := "attractor directory 2\n" + `[{"name":"\u0001","mode":420,"object":"` + x + `","size":1},` +
		`{"name":"dir","mode":2147484096,"object":"` + x + `"},{"name":"fifo","mode":33554816},` +
		`{"name":"large","mode":384},{"name":"link","mode":134217728,"target":"base64:dG8K/w=="},` +
		`{"name":"unreadable","mode":2147483648},` +
		`{"name":"base64://4=","mode":0,"object":"` + x + `","size":1099511627776}]`
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
		if got, err := checkpoint.DecodeDir(good[:n]); err == nil && n < len(good) {
			if again, err := checkpoint.EncodeDir(got); err != nil || !bytes.Equal(again, good[:n]) {
				t.Errorf("the first %d bytes: %+v, %v", n, got, err)
			}
		}
	}
	const magic = "attractor directory 2\n"
	for name, text := range map[string]string{"other": "text", "version": "attractor directory 1\n[]",
		"not minimal": magic + `[{"name":"a", "mode":1}]`, "a default": magic + `[{"name":"a","mode":1,"size":0}]`,
		"another field": magic + `[{"name":"a","mode":1,"more":1}]`, "no array": magic + `{"name":"a","mode":1}`,
		"null": magic + `null`, "base64 without need": magic + `[{"name":"base64:YQ==","mode":1}]`,
		"long": magic + "[] "} {
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
		if err != nil || (got != nil) != want || got != nil && string(got.Name) != filepath.Base(name) {
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
	f.Add([]byte("attractor directory 2\n[]"))
	f.Add([]byte(`attractor directory 2
[{"name":"a","mode":134217728,"target":"b"}]`))
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
	o := checkpoint.RecorderOptions{Store: newMemory(), Owner: "o", Index: index}
	r := checkpoint.NewRecorder(o)
	record(f, r, e)
	must(f, r.Close())
	data, err := os.ReadFile(index)
	must(f, err)
	f.Add(data[sha256.Size:])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		sum := sha256.Sum256(data)
		must(t, os.WriteFile(index, append(sum[:], data...), 0o600))
		record(t, checkpoint.NewRecorder(o), e)
	})
}
