package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// keptOpen limits the files of journals that a [Dir] keeps open between two calls. So a session
// that works finds its file open, and any number of sessions can be at rest.
const keptOpen = 64

// openFiles lists the logs whose files are open and that nobody is using, in the order of their
// last use.
type openFiles struct {
	keep int // the most files
	mu   sync.Mutex
	logs []*fileLog
}

// take removes a log that is going to be used.
func (o *openFiles) take(f *fileLog) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.logs, f); i >= 0 {
		o.logs = slices.Delete(o.logs, i, i+1)
	}
}

// put adds a log that was used. It returns the log whose file is to be closed instead, nil for
// none.
func (o *openFiles) put(f *fileLog) *fileLog {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.logs = append(o.logs, f)
	if len(o.logs) <= o.keep {
		return nil
	}
	oldest := o.logs[0]
	o.logs = slices.Delete(o.logs, 0, 1)
	return oldest
}

// use opens the file unless it is open, and keeps it open until done. The caller holds mu.
func (f *fileLog) use() (handle, error) {
	if f.failure != nil {
		return nil, f.failure
	}
	if f.file == nil {
		if err := f.reopen(); err != nil {
			return nil, f.errorf("%w", err)
		}
	}
	f.dir.files.take(f)
	f.users++
	return f.file, nil
}

// reopen opens the file that rest has closed.
func (f *fileLog) reopen() error {
	h, err := f.dir.sys.open(f.dir.file(f.id, linesExt), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return errRemoved
	}
	if err != nil {
		return err
	}
	info, err := h.Stat()
	if err == nil && !f.inode.is(info) {
		err = errRemoved
	}
	if err != nil {
		return errors.Join(err, h.Close())
	}
	f.file = h
	return nil
}

// errRemoved means that a file of an open journal has lost its name.
var errRemoved = fmt.Errorf("its file was removed while it was open: %w", fs.ErrNotExist)

// done ends a use. The caller holds mu.
func (f *fileLog) done() {
	if f.users--; f.users > 0 || f.file == nil {
		return
	}
	for oldest := f.dir.files.put(f); oldest != nil; oldest = f.dir.files.put(oldest) {
		if oldest == f {
			f.rest()
			return
		}
		// A log whose lock is taken is about to be used, so it becomes the newest one.
		if oldest.mu.TryLock() {
			oldest.rest()
			oldest.mu.Unlock()
			return
		}
	}
}

// rest closes the file unless it is used. It syncs it first, because a later sync of the file may
// not report what went wrong with writing before. The caller holds mu.
func (f *fileLog) rest() {
	if f.users > 0 || f.file == nil {
		return
	}
	info, err := f.file.Stat()
	if err == nil && f.unsaved && f.failure == nil {
		if err = f.file.sync(); err == nil {
			f.durable, f.unsaved = f.good.size, false
		}
	}
	if err = errors.Join(err, f.file.Close()); err != nil {
		f.poison(fmt.Errorf("cannot close its file: %w", err))
	} else {
		f.inode = inodeOf(info)
	}
	f.file = nil
}

// closeFile closes the file for good. Calls that still read it fail. The caller holds mu.
func (f *fileLog) closeFile() error {
	if f.file == nil {
		return nil
	}
	f.dir.files.take(f)
	file := f.file
	f.file = nil
	return file.Close()
}
