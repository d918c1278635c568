package debuglog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxFile limits the file, in bytes.
	maxFile = 256 << 20
	// patience limits how long a write to a pipe may take.
	patience = 2 * time.Second
	// lastLine is the room for the line that ends a full file, in bytes.
	lastLine = 256
	// beginning is that of each line.
	beginning = `{"time":"`
)

// Log is an open file of --debug. Any number of sessions can share it. The methods of a nil Log do
// nothing. It is safe for concurrent use.
type Log struct {
	name    string
	handler slog.Handler
	ids     atomic.Int64 // of requests

	mu       sync.Mutex
	w        io.Writer
	file     *os.File      // nil if the caller owns the writer
	patience time.Duration // how long a write may block; 0 if it cannot
	shared   bool          // it is a regular file, to which other programs may append
	size     int64         // of the file
	limit    int64
	over     bool // nothing more is written
	tell     func(text string)
	failed   error // not told yet
}

// Open opens the file with this name for appending, and makes it readable for its owner only. A
// file of more than half the limit is begun anew. An existing file that is no debug log, or belongs
// to another user, is refused. A named pipe needs a reader.
func Open(name string) (*Log, error) {
	file, info, err := open(name)
	if err != nil {
		return nil, err
	}
	l := newLog(name, file)
	l.file = file
	if l.shared = info.Mode().IsRegular(); l.shared {
		err = l.prepare(info)
	} else {
		l.patience = patience
		if file.SetWriteDeadline(time.Time{}) != nil { // as of a device
			l.patience = 0
		}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// To returns a log that is written to w, which stays the caller's.
func To(name string, w io.Writer) *Log { return newLog(name, w) }

func newLog(name string, w io.Writer) *Log {
	l := &Log{name: name, w: w, limit: maxFile}
	l.handler = slog.NewJSONHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: attribute})
	return l
}

// attribute returns an attribute as it stands in the file: a duration in milliseconds, and long
// texts cut. They are masked before, so that no part of a secret is left at the end.
func attribute(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindDuration:
		return slog.Float64(a.Key+"_ms", millis(a.Value.Duration()))
	case slog.KindString:
		return slog.String(a.Key, shortText(a.Value.String(), maxAttr))
	case slog.KindAny:
		if err, ok := a.Value.Any().(error); ok {
			return slog.String(a.Key, shortText(err.Error(), maxAttr))
		}
	}
	return a
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// open opens a file without waiting for the reader of a pipe. It makes no file where a link points,
// because in a directory that others share the link can be anybody's.
func open(name string) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	created := err == nil
	if errors.Is(err, fs.ErrExist) {
		file, err = openExisting(name)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !created && isOthers(info) {
		err = fmt.Errorf("%s belongs to another user; name another file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func openExisting(name string) (*os.File, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s is a link to a file that does not exist; name the file itself", name)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a file", name)
	case info.Mode().IsRegular():
		return os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ENXIO) {
		return nil, fmt.Errorf("nobody reads the named pipe %s; start its reader first", name)
	}
	return file, err
}

// prepare makes a regular file ready for lines.
func (l *Log) prepare(info os.FileInfo) error {
	l.size = info.Size()
	if l.size > 0 {
		head := make([]byte, len(beginning))
		if _, err := l.file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if string(head) != beginning {
			return fmt.Errorf("%s has something else in it than a debug log; name another file", l.name)
		}
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := l.file.Chmod(0o600); err != nil {
			return fmt.Errorf("the file cannot be made private: %w", err)
		}
	}
	if l.size > l.limit/2 {
		l.size = 0
		return l.file.Truncate(0)
	}
	return l.endLine()
}

// endLine ends the last line, of which a program that was killed, or a full disk, can have left a
// part.
func (l *Log) endLine() error {
	last := make([]byte, 1)
	if l.size == 0 {
		return nil
	}
	if _, err := l.file.ReadAt(last, l.size-1); err != nil || last[0] == '\n' {
		return err
	}
	n, err := l.file.Write([]byte{'\n'})
	l.size += int64(n)
	return err
}

// grown updates the size of a regular file, to which other programs may have appended.
func (l *Log) grown() {
	if !l.shared {
		return
	}
	if info, err := l.file.Stat(); err == nil {
		l.size = info.Size()
	}
}

// Tell sets the function that is told, once, if the file cannot be written. It must return soon,
// and cannot log anything, because the log is locked.
func (l *Log) Tell(tell func(text string)) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.tell = tell
	failed := l.failed
	l.failed = nil
	l.mu.Unlock()
	if failed != nil {
		tell(l.complaint(failed))
	}
}

func (l *Log) complaint(err error) string {
	return fmt.Sprintf("The debug log cannot be written, and ends here: %v", err)
}

// Close closes the file.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}

// Write writes one line as it is. It has no error: a log that cannot be written ends, and its
// session goes on.
func (l *Log) Write(line []byte) (int, error) {
	l.mu.Lock()
	err, tell := l.write(line), l.tell
	if err != nil && tell == nil {
		l.failed = err
	}
	l.mu.Unlock()
	if err != nil && tell != nil {
		tell(l.complaint(err))
	}
	return len(line), nil
}

// write writes one line, unless the log has ended. An error ends it.
func (l *Log) write(line []byte) (err error) {
	if l.over {
		return nil
	}
	if l.grown(); l.size+int64(len(line)) > l.limit-lastLine {
		l.over = true
		line = fmt.Appendf(nil, "{\"time\":%q,\"level\":\"WARN\",\"msg\":\"the debug log has reached its limit and "+
			"ends here\",\"bytes\":%d}\n", time.Now().Format(time.RFC3339Nano), l.size)
	}
	if l.patience > 0 {
		err = l.file.SetWriteDeadline(time.Now().Add(l.patience))
	}
	if err == nil {
		var n int
		n, err = l.w.Write(line)
		l.size += int64(n)
	}
	l.over = l.over || err != nil
	var inFile *fs.PathError
	if err != nil && !errors.As(err, &inFile) {
		err = fmt.Errorf("%s: %w", l.name, err)
	}
	return err
}
