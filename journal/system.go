package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// system is what a journal asks of the operating system. Tests put one in between that fails.
type system interface {
	open(path string, flag int) (handle, error) // 0600 when it makes the file
	mkdir(path string) error                    // 0700
	stat(path string) (fs.FileInfo, error)
	readDir(path string) ([]fs.DirEntry, error)
	rename(from, to string) error
	link(from, to string) error
	remove(path string) error
	removeAll(path string) error
	// syncDir makes the names in a directory durable, where a system can.
	syncDir(path string) error
}

// handle is an open file.
type handle interface {
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Stat() (fs.FileInfo, error)
	Close() error
	// sync makes the file's content durable.
	sync() error
	// lock takes the file's lock without waiting; the error is errBusy when somebody else has it. Shared locks go with each other.
	// It ends with unlock, and with the process; commands that the process starts do not get it.
	lock(shared bool) error
	unlock() error
}

// errBusy means that a lock is taken.
var errBusy = errors.New("the lock is taken")

// disk is the real system.
type disk struct{}

// diskFile adds to a file what os has no call for.
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

// control runs call with the file's descriptor.
func (f diskFile) control(call func(fd uintptr) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = call(fd) }); err != nil {
		return err
	}
	return inner
}

// makeDir makes a directory and what is missing above it, durably, or not at all: whoever finds it takes it for durable.
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
