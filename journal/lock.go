package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// writerLock ensures that a journal has one writer. It locks a file of its own, so that it holds even if the journal's file is removed
// and made anew. That file has the writer's process id. The lock ends with the process.
type writerLock struct {
	sys  system
	path string
	file handle
}

// acquire takes the lock of the journal id at path. The error is a *LockedError if it is taken.
func acquire(ctx context.Context, sys system, id, path string) (*writerLock, error) {
	// List and a writer that is closing hold the lock for microseconds; only a writer holds it longer.
	for wait := time.Millisecond; ; wait *= 2 {
		l, pid, err := tryLock(sys, path)
		switch {
		case !errors.Is(err, errBusy):
			return l, err
		case wait > 8*time.Millisecond:
			return nil, &LockedError{ID: id, PID: pid}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryLock takes the lock without waiting. With errBusy it returns the process id of the writer, if that is known.
func tryLock(sys system, path string) (l *writerLock, pid int, err error) {
	for {
		file, err := sys.open(path, os.O_RDWR|os.O_CREATE)
		if err != nil {
			return nil, 0, err
		}
		if err := file.lock(false); err != nil {
			return nil, writer(file), errors.Join(err, file.Close())
		}
		l := &writerLock{sys: sys, path: path, file: file}
		there, err := l.inPlace()
		if there {
			err = l.sign()
		}
		switch {
		case err != nil:
			return nil, 0, errors.Join(err, l.release())
		case there:
			return l, 0, nil
		}
		// The previous writer or somebody's rm has unlinked the file, so others would lock another one.
		if err := errors.Join(file.unlock(), file.Close()); err != nil {
			return nil, 0, err
		}
	}
}

// inPlace reports whether the locked file still has its name.
func (l *writerLock) inPlace() (bool, error) {
	mine, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := l.sys.stat(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, named), err
}

// sign writes the process id with a fixed width, which leaves nothing of a previous one. Truncating the file instead would make some
// file systems write it to the disk at once.
func (l *writerLock) sign() error {
	_, err := l.file.WriteAt(fmt.Appendf(nil, "%-*d\n", pidWidth, os.Getpid()), 0)
	return err
}

// pidWidth holds the width of a process id in a lock file.
const pidWidth = 20

// release releases the lock. It unlinks the file first, while nobody else can have the lock.
func (l *writerLock) release() error {
	return errors.Join(l.unsign(), l.file.unlock(), l.file.Close())
}

func (l *writerLock) unsign() error {
	if !unlinkLocked {
		return l.file.Truncate(0)
	}
	there, err := l.inPlace()
	if there {
		err = l.sys.remove(l.path)
	}
	return err
}

// writer returns the process id in a lock file, or 0 if there is none.
func writer(file io.ReaderAt) int {
	var buf [pidWidth + 1]byte
	n, err := file.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// probe reports whether a lock is taken, and the process id of the writer if that is known.
func probe(sys system, path string) (locked bool, pid int, err error) {
	file, err := sys.open(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = file.lock(true)
	if errors.Is(err, errBusy) {
		return true, writer(file), nil
	}
	if err != nil {
		return false, 0, err
	}
	return false, 0, file.unlock()
}
