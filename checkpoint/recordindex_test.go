package checkpoint_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// reading collects the contents of files that a store is given.
type reading struct {
	mu   sync.Mutex
	list []string
}

func watch(store *memory) *reading {
	r := &reading{}
	store.stored = func(content string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !strings.HasPrefix(content, "attractor directory") {
			r.list = append(r.list, content)
		}
	}
	return r
}

// take returns the contents since the last call, sorted.
func (r *reading) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.list)
	list := r.list
	r.list = nil
	return list
}

func sameReads(t *testing.T, what string, r *reading, want ...string) {
	t.Helper()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("%s: %q were read, want %q", what, got, want)
	}
}

// aged returns an environment whose files were changed an hour ago, except those whose name begins
// with new.
func aged(e *env.Local) hooked {
	return hooked{Local: e, lstat: func(node *env.Node) {
		if !strings.HasPrefix(node.Name, "new") {
			node.Changed, node.ModTime = node.Changed.Add(-time.Hour), node.ModTime.Add(-time.Hour)
		}
	}}
}

// TestO3_OnlyChangesAreRead checks which files are read again: those that have changed, and those
// that may have changed at the moment of the last recording. A new recorder goes on with the index
// of the last one.
func TestO3_OnlyChangesAreRead(t *testing.T) {
	local, dir := newLocal(t, map[string]string{"a": "a1", "dir/b": "b1", "dir/c": "c1", "new": "n1", "l": "->a"})
	e := aged(local)
	store := newMemory()
	read := watch(store)
	index := filepath.Join(t.TempDir(), "index")
	o := checkpoint.RecorderOptions{Store: store, Index: index}
	r := newRecorder(t, o)
	first := record(t, r, e)
	sameReads(t, "at first", read, "a1", "b1", "c1", "n1")
	record(t, r, e)
	sameReads(t, "unchanged", read, "n1")
	put(t, dir, "dir/b", "b2")
	changed := record(t, r, e)
	sameReads(t, "after a change", read, "b2", "n1")
	must(t, r.Close())

	r = newRecorder(t, o)
	if again := record(t, r, e); again.Root != changed.Root {
		t.Errorf("%+v after %+v", again, changed)
	}
	sameReads(t, "with the index", read, "n1")
	put(t, dir, "dir/b", "b1")
	if again := record(t, r, e); again.Root != first.Root {
		t.Errorf("%+v after %+v", again, first)
	}
	sameReads(t, "changed back", read, "b1", "n1")
	must(t, os.Chmod(filepath.Join(dir, "a"), 0o600))
	record(t, r, e)
	sameReads(t, "another mode", read, "a1", "n1")

	delete(store.objects, env.HashOf([]byte("c1")))
	record(t, newRecorder(t, o), e)
	sameReads(t, "an object is missing", read, "c1", "n1")

	data, err := os.ReadFile(index)
	must(t, err)
	for name, text := range map[string][]byte{"empty": nil, "cut": data[:len(data)-1],
		"flipped": flip(data, len(data)/2), "version": flip(data, 3), "long": append(slices.Clip(data), 0)} {
		must(t, os.WriteFile(index, text, 0o600))
		record(t, newRecorder(t, o), e)
		if got := read.take(); len(got) != 4 {
			t.Errorf("index %s: %q were read", name, got)
		}
	}
	must(t, os.WriteFile(index, data, 0o600))
	other, _ := newLocal(t, map[string]string{"a": "a1"})
	record(t, newRecorder(t, o), aged(other))
	sameReads(t, "another directory", read, "a1")
	if left, err := filepath.Glob(index + "-*"); len(left) != 0 || err != nil {
		t.Errorf("%q, %v", left, err)
	}
}

func flip(data []byte, at int) []byte {
	data = slices.Clone(data)
	data[at] ^= 1
	return data
}

// TestO3_SettledAfterAWhile checks that a file that seems to have changed just now is not read for
// ever.
func TestO3_SettledAfterAWhile(t *testing.T) {
	local, _ := newLocal(t, map[string]string{"a": "a1"})
	// its clock is ahead
	e := hooked{Local: local, lstat: func(node *env.Node) { node.Changed = node.Changed.Add(time.Hour) }}
	store := newMemory()
	read := watch(store)
	index := filepath.Join(t.TempDir(), "index")
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store, Index: index})
	for range 2 {
		record(t, r, e)
		sameReads(t, "young", read, "a1")
	}
	checkpoint.AgeIndex(r, 3*time.Second)
	record(t, r, e)
	sameReads(t, "looked at again after three seconds", read, "a1")
	record(t, r, e)
	sameReads(t, "settled", read)
}

// TestO3_ChangesWhileItIsRead checks that a content is never a mixture: a file that changes while
// it is read is read again, and named if it does not stop to change.
func TestO3_ChangesWhileItIsRead(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "a0", "b": "b0", "gone": "x"})
	store := newMemory()
	again := map[string]string{"a0": "a1", "a1": "a2", "b0": "b1", "b1": "b2", "b2": "b3", "b3": "b4", "b4": "b5",
		"b5": "b6"}
	store.stored = func(content string) {
		if next := again[content]; next != "" {
			put(t, dir, next[:1], next)
		}
		if content == "x" {
			must(t, os.Remove(filepath.Join(dir, "gone")))
		}
	}
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
	got := plain(t, store, tree.Root)
	if diff := gocmp.Diff(map[string]string{"a": "-rw-r--r-- a2", "b": "-rw-r--r-- b3"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(checkpoint.Left{Unsteady: checkpoint.Names{First: []string{"b"}, Count: 1}},
		tree.Left); diff != "" {
		t.Error(diff)
	}
	if tree.Files != 2 || tree.Bytes != 4 {
		t.Errorf("%+v", tree)
	}
}

// TestO3_UnreadableAtOnce checks, for the race detector, that directories can become unreadable
// while others beside them are recorded.
func TestO3_UnreadableAtOnce(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a-bad/a": "1", "b-good/a": "1"})
	for i := range 20 {
		r := newRecorder(t, checkpoint.RecorderOptions{Store: newMemory()})
		record(t, r, e)
		put(t, dir, "b-good/a", fmt.Sprint("changed ", i))
		tree := record(t, r, hooked{Local: e, refuse: func(op, name string) error {
			if op == "opendir" && strings.HasSuffix(name, "bad") {
				return fs.ErrPermission
			}
			return nil
		}})
		if tree.Left.Unreadable.Count != 1 || tree.Files != 2 {
			t.Errorf("%+v", tree)
		}
	}
}
