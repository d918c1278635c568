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

// writerLock makes one File the only writer of a journal. It is a lock on a file of its own, which the journal's file can be
// removed and made anew under, and has the writer's process id in it. The lock ends with its process.
type writerLock struct {
	sys  system
	path string
	file handle
}

// acquire takes the lock of the journal id at path. The error is a *LockedError when somebody has it.
func acquire(ctx context.Context, sys system, id, path string) (*writerLock, error) {
	// List and a writer that is just leaving hold the lock for microseconds: only who holds it longer is a writer.
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

// tryLock takes the lock now. With errBusy comes the process id of the writer that has it, if it is known.
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
		// The file has lost its name to the writer before, or to somebody's rm, so others would lock another one.
		if err := errors.Join(file.unlock(), file.Close()); err != nil {
			return nil, 0, err
		}
	}
}

// inPlace says whether the locked file is the one that has the name.
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

// sign writes down who has the lock, always as long, so that nothing of another one's remains: cutting the file to nothing first
// would make some file systems write it to the disk at once.
func (l *writerLock) sign() error {
	_, err := l.file.WriteAt(fmt.Appendf(nil, "%-*d\n", pidWidth, os.Getpid()), 0)
	return err
}

// pidWidth holds any process id.
const pidWidth = 20

// release gives the lock free. The name goes first, while nobody else can have the lock.
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

// writer reads the process id in a lock file; 0 when there is none.
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

// probe says whether a lock is taken, and by whom if that is known.
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
