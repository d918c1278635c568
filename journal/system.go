package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// system makes the calls of the operating system that a journal needs. Tests use one that fails.
type system interface {
	open(path string, flag int) (handle, error) // creates files with mode 0600
	mkdir(path string) error                    // 0700
	stat(path string) (fs.FileInfo, error)
	readDir(path string) ([]fs.DirEntry, error)
	rename(from, to string) error
	link(from, to string) error
	remove(path string) error
	removeAll(path string) error
	// syncDir makes the names in a directory durable, if the system can.
	syncDir(path string) error
}

// handle represents an open file.
type handle interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
	// sync makes the file's content durable.
	sync() error
	// lock takes the file's lock without waiting, as filelock.TryLock does. The lock ends with
	// unlock or with the process. Commands that the process starts do not inherit it.
	lock(shared bool) error
	unlock() error
}

// disk implements system with package os.
type disk struct{}

// diskFile adds to a file the calls that package os lacks.
type diskFile struct{ *os.File }

func (disk) open(path string, flag int) (handle, error) {
	f, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

func (disk) mkdir(path string) error                    { return os.Mkdir(path, 0o700) }
func (disk) stat(path string) (fs.FileInfo, error)      { return os.Stat(path) }
func (disk) readDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (disk) rename(from, to string) error               { return os.Rename(from, to) }
func (disk) link(from, to string) error                 { return os.Link(from, to) }
func (disk) remove(path string) error                   { return os.Remove(path) }
func (disk) removeAll(path string) error                { return os.RemoveAll(path) }
func (disk) syncDir(path string) error                  { return atomicfile.SyncDir(path) }

func (f diskFile) lock(shared bool) error { return filelock.TryLock(f.File, shared) }
func (f diskFile) unlock() error          { return filelock.Unlock(f.File) }

// makeDir makes a directory and its missing parents. A directory that cannot be made durable is
// removed, because whoever finds it takes it for durable.
func makeDir(sys system, path string) error {
	if _, err := sys.stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeDir(sys, above); err != nil {
			return err
		}
	}
	if err := sys.mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := sys.syncDir(above); err != nil {
		return errors.Join(err, sys.remove(path))
	}
	return nil
}
