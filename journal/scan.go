package journal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// lines reads a file line by line. It holds one line at a time, and not even that of the run of NUL bytes that a file system may
// leave behind when it crashes.
type lines struct {
	r      *bufio.Reader
	buf    []byte
	line   int64 // from 1, of the line read last
	at     int64 // where it begins
	next   int64 // where the one after it begins
	ending bool  // it has its line break
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// read returns the next line, which is valid until the next call. One with a NUL byte in it, which JSON cannot have, comes back
// empty. The error is io.EOF when nothing is left.
func (l *lines) read() ([]byte, error) {
	l.line++
	l.at, l.buf, l.ending = l.next, l.buf[:0], false
	for nul := false; ; {
		chunk, err := l.r.ReadSlice('\n')
		l.next += int64(len(chunk))
		l.ending = err == nil
		if nul = nul || bytes.IndexByte(chunk, 0) >= 0; nul {
			chunk, l.buf = nil, nil
		}
		switch {
		case err == nil && len(l.buf) == 0:
			return chunk, nil // without a copy
		case err == nil, err == io.EOF && l.next > l.at:
			l.buf = append(l.buf, chunk...)
			return l.buf, nil
		case err == bufio.ErrBufferFull:
			l.buf = append(l.buf, chunk...)
		default:
			return nil, err
		}
	}
}

// nothingFollows checks that the line read last is the last one. NUL bytes after it count as nothing.
func (l *lines) nothingFollows(problem error) error {
	buf := make([]byte, 4<<10)
	for {
		n, err := l.r.Read(buf)
		if len(bytes.TrimLeft(buf[:n], "\x00")) > 0 {
			return l.corrupt(problem)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (l *lines) corrupt(problem error) error {
	return fmt.Errorf("%w: line %d, at byte %d: %w", ErrCorrupt, l.line, l.at, problem)
}

// extent is a number of records and the bytes that they take.
type extent struct{ records, size int64 }

// survey finds how far a file is good: up to the end of the last whole Append. What a crash leaves behind that is cut off: a
// last line without its end or that is no JSON, NUL bytes, a batch without its last line. Anything else is ErrCorrupt.
func survey(ctx context.Context, r io.Reader) (extent, error) {
	var good extent
	l := newLines(r)
	for n := int64(1); ; n++ {
		if err := ctx.Err(); err != nil {
			return good, err
		}
		text, err := l.read()
		if err == io.EOF || err == nil && !l.ending {
			return good, nil
		}
		if err != nil {
			return good, err
		}
		h, err := decodeHead(text)
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return good, l.nothingFollows(err)
		}
		if err == nil && h.N != n {
			err = fmt.Errorf("the record is numbered %d, not %d", h.N, n)
		}
		if err != nil {
			return good, l.corrupt(err)
		}
		if !h.More {
			good = extent{records: n, size: l.next}
		}
	}
}

// stream reads the records from number from on in what survey has found good.
func stream(ctx context.Context, file io.ReaderAt, good extent, from int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l := newLines(io.NewSectionReader(file, 0, good.size))
		for n := int64(1); n <= good.records; n++ {
			r, err := next(ctx, l, n, from)
			if err != nil {
				yield(Record{}, err)
				return
			}
			if n >= from && !yield(r, nil) {
				return
			}
		}
	}
}

// next reads record n, or passes over it when it comes before from.
func next(ctx context.Context, l *lines, n, from int64) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	text, err := l.read()
	switch {
	case err == io.EOF:
		return Record{}, l.corrupt(io.ErrUnexpectedEOF)
	case err != nil || n < from:
		return Record{}, err
	}
	r, err := decodeLine(text)
	if err == nil && r.N != n {
		err = fmt.Errorf("the record is numbered %d, not %d", r.N, n)
	}
	if err != nil {
		return Record{}, l.corrupt(err)
	}
	return r, nil
}
