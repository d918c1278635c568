package journal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"
)

// Begin yields the records of a log from the first on, for callers who want only the first few of
// many logs. It reads no further than they iterate, so the length of the log does not matter, and
// damage behind that is not noticed. It ignores an end that a crash has torn or that is being
// written. The data of a record is valid until the next record is yielded or the iteration ends.
func (d *Dir) Begin(ctx context.Context, id string) iter.Seq2[Record, error] {
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
		defer h.Close() // the file was only read
		l := d.buffers.get()
		defer d.buffers.put(l)
		given, wanted, err := l.begin(ctx, h, 0, yield)
		if errors.Is(err, ErrCorrupt) && wanted {
			// A writer may have cut off a torn end and appended to the file meanwhile. Real damage
			// is still there.
			_, wanted, err = l.begin(ctx, h, given, yield)
		}
		if err != nil && wanted {
			yield(Record{}, fmt.Errorf("journal: session %s: %w", id, err))
		}
	}
}

// begin yields the records of a file after the first skip ones. It returns the number of the last
// record that was yielded, and whether yield wants more.
func (l *lines) begin(ctx context.Context, file io.ReaderAt, skip int64,
	yield func(Record, error) bool) (given int64, wanted bool, err error) {
	*l = lines{r: l.r, buf: l.buf, records: l.records, appended: l.appended}
	l.r.Reset(io.NewSectionReader(file, 0, 1<<62))
	for given = skip; ; {
		if err := ctx.Err(); err != nil {
			return given, true, err
		}
		batch, err := l.batch(false)
		if err != nil || batch == nil {
			return given, true, err
		}
		for _, r := range batch {
			if r.N <= given {
				continue
			}
			given = r.N
			if !yield(r, nil) {
				return given, false, nil
			}
		}
	}
}

// buffers keeps the buffers of a [Dir] for reading the beginnings of journals one after the other.
type buffers struct{ spare sync.Pool }

func (b *buffers) get() *lines {
	if l, ok := b.spare.Get().(*lines); ok {
		return l
	}
	return &lines{r: bufio.NewReaderSize(nil, 32<<10)} // most headers fit
}

// put keeps buffers for another journal, but no large ones.
func (b *buffers) put(l *lines) {
	l.r.Reset(nil)
	if cap(l.buf)+cap(l.appended) > 256<<10 || cap(l.records) > 16 {
		l.buf, l.appended, l.records = nil, nil, nil
	}
	clear(l.records[:cap(l.records)])
	b.spare.Put(l)
}
