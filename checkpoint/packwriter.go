package checkpoint

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/internal/filelock"
)

// packWriter appends a batch to a pack, whose lock it holds.
type packWriter struct {
	file    heldFile
	buf     *bufio.Writer
	from    int64 // where the batch begins
	at      int64 // where the next record begins
	objects []found
	fresh   bool // the pack is new
	done    bool // what was written stays
}

// openWriter returns a writer for the largest pack that may still grow and that nobody else is
// writing to, or for a new one. The caller holds the lock of the store.
func (d *Dir) openWriter() (*packWriter, error) {
	for _, p := range d.growing() {
		w, err := d.tryWriter(p)
		if w != nil || err != nil {
			return w, err
		}
	}
	w, err := d.newWriter()
	return w, full(err)
}

// tryWriter returns nil if the pack is gone or another batch is writing to it.
func (d *Dir) tryWriter(p *packFile) (*packWriter, error) {
	file, err := os.OpenFile(p.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := filelock.TryLock(file, filelock.Exclusive); err != nil {
		err = errors.Join(ignore(err, filelock.ErrLocked), file.Close())
		return nil, err
	}
	held := heldFile{file}
	end, err := d.endOf(p, held)
	if err == nil && end > 0 {
		err = file.Truncate(end)
	}
	if err == nil && end > 0 {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil || end == 0 {
		return nil, errors.Join(err, held.Close())
	}
	return &packWriter{file: held, buf: bufio.NewWriterSize(file, writeBuffer), from: end, at: end}, nil
}

// writeBuffer is the size of a writer's buffer.
const writeBuffer = 256 << 10

// endOf returns the end of the last complete batch in an open pack, which is locked, or 0 if the
// pack is not there any more.
func (d *Dir) endOf(p *packFile, file heldFile) (int64, error) {
	if there, err := file.named(); err != nil || !there {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if info.Size() < p.end {
		return 0, nil // somebody has cut it
	}
	if err := p.update(info.Size()); err != nil {
		return 0, err
	}
	if p.damaged {
		return 0, nil
	}
	return p.end, nil
}

// ignore returns nil instead of an expected error.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// newWriter returns a writer for a new pack.
func (d *Dir) newWriter() (*packWriter, error) {
	file, err := tryHold(d.newPack(), filelock.Exclusive)
	if err != nil {
		return nil, err
	}
	w := &packWriter{file: file, buf: bufio.NewWriterSize(file, writeBuffer), at: int64(len(packMagic)), fresh: true}
	if _, err := w.buf.WriteString(packMagic); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *packWriter) name() string { return filepath.Base(w.file.Name()) }

// add appends a record.
func (w *packWriter) add(h header, payload io.Reader) error {
	var buf [headerSize]byte
	if _, err := w.buf.Write(h.append(buf[:0])); err != nil {
		return err
	}
	n, err := w.buf.ReadFrom(io.LimitReader(payload, h.length))
	if err == nil && n < h.length {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return err
	}
	length := headerSize + h.length
	if h.kind == recordObject {
		w.objects = append(w.objects, found{h.object, place{w.at, length}})
	}
	w.at += length
	return nil
}

// sync ends the batch in the pack, and makes the pack durable.
func (w *packWriter) sync() error {
	if err := w.add(header{kind: recordEnd}, strings.NewReader("")); err != nil {
		return err
	}
	if err := w.buf.Flush(); err != nil {
		return err
	}
	return w.file.Sync()
}

// close ends the writer, and takes back what it has written if that was not made durable.
func (w *packWriter) close() error {
	if w.done {
		return w.file.Close()
	}
	if !w.fresh {
		return errors.Join(w.file.Truncate(w.from), w.file.Close())
	}
	err := os.Remove(w.file.Name()) // while it is locked, so that nobody else writes to it
	errClose := w.file.Close()
	if err != nil { // some systems do not remove open files
		err = os.Remove(w.file.Name())
	}
	return errors.Join(err, errClose)
}
