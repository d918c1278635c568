//go:build unix

package checkpoint_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// TestO3_SpecialFilesAreLeftAlone checks that FIFOs and sockets are named and not opened.
func TestO3_SpecialFilesAreLeftAlone(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "1", "d/": ""})
	must(t, unix.Mkfifo(filepath.Join(dir, "d/fifo"), 0o600))
	t.Chdir(dir) // the path of a socket is short
	l, err := net.Listen("unix", "socket")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	tree := record(t, r, e)
	if diff := gocmp.Diff(checkpoint.Left{Special: checkpoint.Names{First: []string{"d/fifo", "socket"}, Count: 2}},
		tree.Left); diff != "" {
		t.Error(diff)
	}
	fifo, err := checkpoint.Lookup(t.Context(), store, tree.Root, "d/fifo")
	if err != nil || fifo == nil || fifo.Recorded() || tree.Files != 2 {
		t.Errorf("%+v, %v; %+v", fifo, err, tree)
	}
	puts := store.puts
	if again := record(t, r, e); again.Root != tree.Root || store.puts != puts || again.Left.Special.Count != 2 {
		t.Errorf("%+v after %+v", again, tree)
	}
	must(t, os.Remove(filepath.Join(dir, "d/fifo")))
	if changes, err := checkpoint.Changes(t.Context(), store, tree.Root, record(t, r, e).Root); err != nil ||
		len(changes) != 1 || changes[0].Path != "d/fifo" || changes[0].After != nil {
		t.Errorf("%+v, %v", changes, err)
	}
}

// TestO3_UnreadableIsNamed checks that a recording goes on without what it may not read, and ends
// if the environment is lost.
func TestO3_UnreadableIsNamed(t *testing.T) {
	local, _ := newLocal(t, map[string]string{"a": "1", "f": "2", "d/x": "3", "search/y": "4", "l": "->a"})
	var refused error = &fs.PathError{Op: "open", Path: "it", Err: fs.ErrPermission}
	e := hooked{Local: local, refuse: func(op, name string) error {
		switch op + " " + name {
		case "open f", "opendir d", "lstat y", "readlink l":
			return refused
		}
		return nil
	}}
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	tree := record(t, r, e)
	want := checkpoint.Names{First: []string{"d/: permission denied", "f: permission denied", "l: permission denied",
		"search/y: permission denied"}, Count: 4}
	if diff := gocmp.Diff(want, tree.Left.Unreadable); diff != "" || tree.Files != 2 || tree.Bytes != 1 {
		t.Errorf("%+v\n%s", tree, diff)
	}
	if again := record(t, r, e); again.Root != tree.Root || again.Left.Unreadable.Count != 4 {
		t.Errorf("%+v after %+v", again, tree)
	}
	refused = fmt.Errorf("%w: gone", env.ErrLost)
	if _, err := r.Record(t.Context(), e); !errors.Is(err, env.ErrLost) {
		t.Errorf("a lost environment: %v", err)
	}
	if whole := record(t, r, local); whole.Files != 7 || whole.Bytes != 4 || whole.Left.Unreadable.Count != 0 {
		t.Errorf("%+v", whole)
	}
}

// TestO3_SwappedDuringTheWalk replaces files by FIFOs, directories by links and so on, between the
// look at an entry and its opening. What is outside is never read, nothing hangs, and the tree has
// what is there then.
func TestO3_SwappedDuringTheWalk(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "secret", "SECRET")
	e, dir := newLocal(t, map[string]string{"file": "1", "filelink": "2", "filedir": "3", "dir/x": "4",
		"dirfile/x": "5", "dirlink/x": "6", "dirgone/x": "7", "link": "->file", "steady": "8", "dirdir/x": "9"})
	at := func(name string) string { return filepath.Join(dir, name) }
	swaps := map[string]func(){
		"open file": func() { must(t, os.Remove(at("file"))); must(t, unix.Mkfifo(at("file"), 0o600)) },
		"open filelink": func() {
			must(t, os.Remove(at("filelink")))
			put(t, dir, "filelink", "->"+outside+"/secret")
		},
		"open filedir":    func() { must(t, os.Remove(at("filedir"))); put(t, dir, "filedir/new/y", "10") },
		"opendir dirfile": func() { must(t, os.RemoveAll(at("dirfile"))); put(t, dir, "dirfile", "11") },
		"opendir dirlink": func() { must(t, os.RemoveAll(at("dirlink"))); put(t, dir, "dirlink", "->"+outside) },
		"opendir dirgone": func() { must(t, os.RemoveAll(at("dirgone"))) },
		"opendir dirdir":  func() { must(t, os.RemoveAll(at("dirdir"))); put(t, dir, "dirdir/z", "12") },
		"readlink link":   func() { must(t, os.Remove(at("link"))); put(t, dir, "link", "13") },
	}
	var mu sync.Mutex
	done := map[string]bool{}
	hooks := hooked{Local: e, before: func(op, name string) {
		mu.Lock()
		defer mu.Unlock()
		key := op + " " + name
		if swap := swaps[key]; swap != nil && !done[key] {
			done[key] = true
			swap()
		}
	}}
	store := newMemory()
	read := watch(store)
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	tree := record(t, r, hooks)
	if len(done) != len(swaps) {
		t.Fatalf("only these were swapped: %v", done)
	}
	if diff := gocmp.Diff(checkpoint.Left{Special: checkpoint.Names{First: []string{"file"}, Count: 1}},
		tree.Left); diff != "" {
		t.Error(diff)
	}
	got := plain(t, store, tree.Root)
	if diff := gocmp.Diff(walked(t, dir), got); diff != "" {
		t.Errorf("on the disk -, recorded +\n%s", diff)
	}
	if all := strings.Join(read.take(), " "); strings.Contains(all, "SECRET") {
		t.Errorf("read: %q", all)
	}
	if again := record(t, r, e); again.Root != tree.Root || again.Files != tree.Files || again.Bytes != tree.Bytes {
		t.Errorf("%+v after %+v", again, tree)
	}
}

// TestO3_TooDeepIsNamed checks that directories within each other do not take memory without bound,
// and that the rest is recorded.
func TestO3_TooDeepIsNamed(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "1"})
	at, err := os.OpenRoot(dir)
	must(t, err)
	name := strings.Repeat("d", 200)
	for range 25 {
		must(t, at.Mkdir(name, 0o755))
		below, err := at.OpenRoot(name)
		must(t, errors.Join(err, at.Close()))
		at = below
	}
	must(t, at.Close())
	store := newMemory()
	tree := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), e)
	if tree.Files != 1+20 || tree.Left.Unreadable.Count != 1 || !strings.Contains(tree.Left.Unreadable.First[0],
		"4096 bytes") {
		t.Errorf("%d files, %d left out", tree.Files, tree.Left.Unreadable.Count)
	}
}
