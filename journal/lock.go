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
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// locks holds what the locks of a [Dir] share. A journal's lock ensures that it has one writer. It
// is a file of its own, so that it holds even if the journal's file is removed and made anew. That
// file has the writer's process id. The lock ends with the process.
//
// The lock files of all journals that the Dir has open are links to one file, which is open and
// locked. So a lock needs no descriptor of its own. If a lock cannot be a link, it is a file of its
// own, to which the next ones are linked.
type locks struct {
	mu   sync.Mutex
	last *lockFile // to which the next lock is linked, nil for none
}

// lockFile holds an open and locked file, and the ids of the journals whose locks are links to it.
type lockFile struct {
	handle
	info fs.FileInfo
	ids  map[string]struct{}
}

// lock takes the lock of a journal. If it is taken, the error is a *LockedError.
func (d *Dir) lock(ctx context.Context, id string) (*lockFile, error) {
	// List and a writer that is closing hold the lock for microseconds; only a writer holds it
	// longer. Several processes may take over the journals of one that was killed, whose locks were
	// one file.
	for wait := time.Millisecond; ; wait *= 2 {
		file, pid, err := d.tryLock(id)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, filelock.ErrLocked):
			return nil, cannotLock(id, err)
		case wait > 64*time.Millisecond, wait > 8*time.Millisecond && !gone(pid):
			return nil, &LockedError{ID: id, PID: pid}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, cannotLock(id, ctx.Err())
		}
	}
}

func cannotLock(id string, err error) error {
	return fmt.Errorf("journal: session %s: cannot lock: %w", id, err)
}

// tryLock takes a lock without waiting. With filelock.ErrLocked it returns the process id of the
// writer, if that is known.
func (d *Dir) tryLock(id string) (file *lockFile, pid int, err error) {
	d.locks.mu.Lock()
	defer d.locks.mu.Unlock()
	for {
		if file, err := d.linkLock(id); file != nil || err != nil {
			return file, 0, err
		}
		if file, pid, err = d.ownLock(id); file != nil || err != nil {
			return file, pid, err
		}
	}
}

// linkLock takes a lock by linking it to the last lock file. It returns nil if that is not
// possible, such as on a file system without links, or if the lock has a file already.
func (d *Dir) linkLock(id string) (*lockFile, error) {
	last, path := d.locks.last, d.file(id, lockExt)
	if last == nil {
		return nil, nil
	}
	for other := range last.ids { // any of them
		err := d.sys.link(d.file(other, lockExt), path)
		if errors.Is(err, fs.ErrExist) {
			return nil, nil
		}
		if err != nil {
			d.locks.last = nil
			return nil, nil
		}
		break
	}
	there, err := last.named(d.sys, path)
	if there {
		last.ids[id] = struct{}{}
		return last, nil
	}
	d.locks.last = nil // somebody has replaced the other lock file
	return nil, errors.Join(err, d.sys.remove(path))
}

// ownLock takes a lock by locking a file of its own. It returns nil if this is to be tried again.
func (d *Dir) ownLock(id string) (file *lockFile, pid int, err error) {
	path := d.file(id, lockExt)
	h, err := d.sys.open(path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, 0, err
	}
	if err := h.lock(false); err != nil {
		return nil, writer(h), errors.Join(err, h.Close())
	}
	file = &lockFile{handle: h, ids: map[string]struct{}{id: {}}}
	there := false
	if file.info, err = h.Stat(); err == nil {
		there, err = file.named(d.sys, path)
	}
	switch {
	// the previous writer or somebody's rm has unlinked the file, so others would lock another one
	case err == nil && !there:
		return nil, 0, errors.Join(h.unlock(), h.Close())
	// left by a killed process, whose other locks may be links to it
	case err == nil && (d.locks.last != nil || links(file.info) > 1):
		return nil, 0, d.freeLock(file, id)
	case err == nil:
		err = file.sign()
	}
	if err != nil {
		return nil, 0, errors.Join(err, d.freeLock(file, id))
	}
	if unlinkLocked {
		d.locks.last = file
	}
	return file, 0, nil
}

// named reports whether the file has a name.
func (f *lockFile) named(sys system, path string) (bool, error) {
	info, err := sys.stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(f.info, info), err
}

// sign writes the process id with a fixed width, which leaves nothing of a previous one. Truncating
// the file instead would make some file systems write it to the disk at once.
func (f *lockFile) sign() error {
	_, err := f.WriteAt(fmt.Appendf(nil, "%-*d\n", pidWidth, os.Getpid()), 0)
	return err
}

// pidWidth holds the width of a process id in a lock file.
const pidWidth = 20

// unlock releases a lock.
func (d *Dir) unlock(file *lockFile, id string) error {
	d.locks.mu.Lock()
	defer d.locks.mu.Unlock()
	return d.freeLock(file, id)
}

// freeLock releases a lock. It unlinks the lock file first, while nobody else can have the lock.
// The last lock closes the file.
func (d *Dir) freeLock(file *lockFile, id string) error {
	err := d.unsign(file, id)
	if delete(file.ids, id); len(file.ids) > 0 {
		return err
	}
	if d.locks.last == file {
		d.locks.last = nil
	}
	return errors.Join(err, file.unlock(), file.Close())
}

func (d *Dir) unsign(file *lockFile, id string) error {
	if !unlinkLocked {
		return file.Truncate(0)
	}
	there, err := file.named(d.sys, d.file(id, lockExt))
	if there {
		err = d.sys.remove(d.file(id, lockExt))
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

// probe reports whether a journal's lock is taken, and the process id of the writer if that is
// known.
func (d *Dir) probe(id string) (locked bool, pid int, err error) {
	file, err := d.sys.open(d.file(id, lockExt), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = file.lock(true)
	if errors.Is(err, filelock.ErrLocked) {
		return true, writer(file), nil
	}
	if err != nil {
		return false, 0, err
	}
	return false, 0, file.unlock()
}
