package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"time"
)

// followPause limits the time between two reads of a journal that is followed.
const followPause = 250 * time.Millisecond

// Follow implements [Store]. It polls the file, at intervals that grow to 250 ms while there is
// nothing new. It ignores an incomplete end, which is being written or will be cut off by the next
// writer.
func (d *Dir) Follow(ctx context.Context, id string, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := d.exists(id); err != nil {
			yield(Record{}, err)
			return
		}
		h, err := d.sys.open(d.file(id, linesExt), os.O_RDONLY)
		if err != nil {
			yield(Record{}, fmt.Errorf("journal: session %s: %w", id, err))
			return
		}
		f := &follower{view: view{dir: d, id: id}, file: h, from: from}
		if err := f.follow(ctx, yield); err != nil {
			yield(Record{}, errors.Join(err, h.Close()))
			return
		}
		h.Close() // the file was only read, and nobody can receive an error
	}
}

// follower follows a journal that others write.
type follower struct {
	view
	file   handle
	from   int64
	good   extent // the part that was read
	summed bool   // lines have checksums
}

// follow yields records until the context ends or an error occurs. It returns nil if yield wants no
// more.
func (f *follower) follow(ctx context.Context, yield func(Record, error) bool) error {
	for pause, damaged := time.Duration(0), false; ; {
		at := f.good
		wanted, err := f.read(ctx, yield)
		switch {
		case !wanted:
			return nil
		case errors.Is(err, ErrCorrupt) && !damaged:
			// A writer may have cut off a torn end and appended to the file meanwhile. Real damage
			// is still there.
			damaged = true
		case err != nil:
			return err
		default:
			damaged = false
		}
		if pause = min(max(2*pause, time.Millisecond), followPause); f.good != at {
			pause = 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// read yields the complete appends.
func (f *follower) read(ctx context.Context, yield func(Record, error) bool) (wanted bool, err error) {
	if err := ctx.Err(); err != nil {
		return true, err
	}
	info, err := f.file.Stat()
	switch {
	case err != nil:
		return true, f.errorf("%w", err)
	case links(info) == 0:
		return true, f.errorf("its file was removed while it was followed: %w", fs.ErrNotExist)
	case info.Size() < f.good.size:
		return true, f.errorf("%w: the file was cut to %d bytes, of which %d were read before", ErrCorrupt, info.Size(),
			f.good.size)
	case info.Size() == f.good.size:
		return true, nil
	}
	size := info.Size() - f.good.size
	l := &lines{r: bufio.NewReaderSize(io.NewSectionReader(f.file, f.good.size, size), int(min(size, 64<<10))),
		line: f.good.records, next: f.good.size, summed: f.summed}
	for {
		batch, err := l.batch(true)
		if err != nil {
			return true, f.errorf("%w", err)
		}
		if batch == nil {
			return true, nil
		}
		f.good, f.summed = extent{l.line, l.next}, l.summed
		for _, r := range batch {
			if r.N < f.from {
				continue
			}
			if err := ctx.Err(); err != nil {
				return true, err
			}
			if !yield(r, nil) {
				return false, nil
			}
		}
	}
}

// batch returns the records of the next append, or nil if it is incomplete. Unless keep is set,
// they are valid until the next call.
func (l *lines) batch(keep bool) ([]Record, error) {
	var batch []Record
	if l.appended = l.appended[:0]; !keep {
		batch = l.records[:0]
	}
	for {
		text, err := l.read()
		if err == io.EOF || err == nil && !l.ending {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		read, err := l.checked(text)
		if broken(err) {
			return nil, l.nothingFollows(err)
		}
		if err == nil {
			err = l.numbered(read)
		}
		if err != nil {
			return nil, l.corrupt(err)
		}
		switch {
		case keep:
			read.Data = bytes.Clone(read.Data)
		case read.More: // the next line takes its place
			at := len(l.appended)
			l.appended = append(l.appended, read.Data...)
			read.Data = l.appended[at:len(l.appended):len(l.appended)]
		}
		if batch = append(batch, read.Record); !read.More {
			if !keep {
				l.records = batch
			}
			return batch, nil
		}
	}
}
