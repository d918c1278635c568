package env

import (
	"errors"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel file system that is mounted in the directory is refused under any name.
func TestD2_DirRefusesMountedKernelFiles(t *testing.T) {
	l, err := NewLocal("/", LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := l.openDir(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	if fd, _, _, err := d.(*localDir).openat("proc", unix.O_RDONLY|unix.O_DIRECTORY, unix.S_IFDIR); !errors.Is(err,
		fs.ErrPermission) {
		t.Errorf("descriptor %d, %v", fd, err)
	}
	if err := errors.Join(d.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}
