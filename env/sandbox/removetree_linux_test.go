package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/await"
)

// dig makes directories in one another, which the file system allows far below the longest path.
func dig(t *testing.T, top string, depth int) {
	t.Helper()
	at, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		next := -1
		err := unix.Mkdirat(at, "d", 0o700)
		if err == nil {
			next, err = unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		if err := errors.Join(err, unix.Close(at)); err != nil {
			t.Fatal(err)
		}
		at = next
	}
	if err := unix.Close(at); err != nil {
		t.Fatal(err)
	}
}

// What a command leaves in its private directories is removed at the end of the session, also if it
// lies so deep that a look from the top at each directory would take hours, and the next session
// would wait for it.
func TestL12_DeepPrivateDirectory(t *testing.T) {
	base, err := os.MkdirTemp("/dev/shm", "deep") // in memory it takes seconds
	if err != nil {
		t.Logf("on disk, which is slower: %v", err)
		base = t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	private, outside := filepath.Join(base, "private"), filepath.Join(base, "outside")
	for _, dir := range []string{private, outside, filepath.Join(private, "locked/in/it")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dig(t, private, 20_000)
	if err := errors.Join(os.WriteFile(filepath.Join(private, "locked/in/file"), nil, 0o400),
		os.WriteFile(filepath.Join(outside, "file"), nil, 0o600), os.Symlink(outside, filepath.Join(private, "link")),
		os.Symlink(outside, filepath.Join(private, "locked/link")), os.Chmod(filepath.Join(private, "locked/in"),
			0o500),
		os.Chmod(filepath.Join(private, "locked"), 0)); err != nil {
		t.Fatal(err)
	}
	removed := make(chan error, 1)
	go func() { removed <- sandbox.RemoveTree(private) }()
	if err := await.Receive(t, "the directory is removed", removed); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(private); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Error(err)
	}
}
