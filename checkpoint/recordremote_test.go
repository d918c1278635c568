package checkpoint_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/serve"
	"github.com/attractor-go/attractor/internal/await"
)

// TestO3_OverAStream records a tree through an environment behind a stream. It is the tree that is
// recorded here, and what has not changed is not read again.
func TestO3_OverAStream(t *testing.T) {
	local, dir := newLocal(t, map[string]string{".gitignore": "*.o\n", "a": "1", "dir/b": "2", "dir/x.o": "",
		"empty/": "", "l": "->dir", "caf\xe9": "3", "line\nbreak": "4", "~": "5"})
	must(t, os.Chmod(filepath.Join(dir, "a"), 0o755))
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.Background(), far) }()
	e, err := remote.New(t.Context(), near, remote.Options{Dir: dir})
	must(t, err)
	t.Cleanup(func() {
		must(t, e.Close())
		must(t, <-served)
	})
	store := newMemory()
	read := watch(store)
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	tree := record(t, r, e)
	if here := record(t, newRecorder(t, checkpoint.RecorderOptions{Store: store}), local); here.Root != tree.Root {
		t.Errorf("recorded here -, there +\n%s", gocmp.Diff(plain(t, store, here.Root), plain(t, store, tree.Root)))
	}
	// The clock over there is known by the latest change. When it is long after that of the others,
	// they are not read again.
	n := 0
	await.For(t, "the others are old", func() bool {
		n++
		text := fmt.Sprint("changed ", n)
		put(t, dir, "dir/b", text)
		tree = record(t, r, e)
		read.take()
		record(t, r, e)
		return slices.Equal(read.take(), []string{text})
	})
	must(t, os.Remove(filepath.Join(dir, "a")))
	if got, want := changed(t, store, tree.Root, record(t, r, e).Root),
		[]string{`"a": "-rwxr-xr-x 1" ""`}; gocmp.Diff(want, got) != "" {
		t.Errorf("%q, want %q", got, want)
	}
}
