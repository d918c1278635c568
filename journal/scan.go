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

// lines reads a file line by line. It holds one line at a time, and discards lines with NUL bytes,
// which a file system may leave after a crash.
type lines struct {
	r      *bufio.Reader
	buf    []byte
	line   int64 // number of the line read last, from 1
	at     int64 // offset of that line
	next   int64 // offset of the next line
	ending bool  // the line read last has its line break
	summed bool  // the first line has a checksum, so that all must have one

	records  []Record // of the last batch, if it was not for keeping
	appended []byte   // data of these records
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// read returns the next line, which is valid until the next call. A line with a NUL byte, which
// JSON cannot have, is returned as empty. The error is io.EOF at the end of the file.
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

// nothingFollows returns the problem as ErrCorrupt unless the line read last is the last one. It
// ignores NUL bytes after it.
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

// extent holds a number of records and their size in bytes.
type extent struct{ records, size int64 }

// Problems of a torn end, besides errors of the decoder.
var (
	errNoLineBreak = errors.New("the last line has no line break")
	errBatch       = errors.New("the last lines belong to an append whose end is missing")
)

// survey returns the good part of a file: up to the end of the last complete Append. Torn is the
// problem of the rest, or nil if there is none: a last line that has no line break, is not JSON or
// does not fit its checksum, NUL bytes, or a batch without its last line. Any other damage is
// ErrCorrupt.
func survey(ctx context.Context, r io.Reader) (good extent, torn, err error) {
	l := newLines(r)
	for n := int64(1); ; n++ {
		if err := ctx.Err(); err != nil {
			return good, nil, err
		}
		text, err := l.read()
		switch {
		case err == io.EOF && good.size < l.at:
			return good, errBatch, nil
		case err == io.EOF:
			return good, nil, nil
		case err != nil:
			return good, nil, err
		case !l.ending:
			return good, errNoLineBreak, nil
		}
		h, err := l.checked(text)
		if broken(err) {
			return good, err, l.nothingFollows(err)
		}
		if err == nil && h.N != n {
			err = misnumbered(h.N, n)
		}
		if err != nil {
			return good, nil, l.corrupt(err)
		}
		if !h.More {
			good = extent{records: n, size: l.next}
		}
	}
}

// checked decodes the line read last and checks its checksum. If a line lacks a required checksum
// and is not JSON either, it returns the error of the JSON, because a crash may have left the line.
// The data is valid until the next line is read.
func (l *lines) checked(text []byte) (line, error) {
	problem := l.check(text)
	if errors.Is(problem, errSum) {
		return line{}, problem
	}
	read, err := decodeLine(text)
	if err == nil {
		err = problem
	}
	return read, err
}

// check checks the checksum of the line read last. The first line decides whether the others need
// one.
func (l *lines) check(text []byte) error {
	summed, err := checkSum(text)
	if l.line == 1 {
		l.summed = summed
	}
	switch {
	case err != nil || summed:
		return err
	case l.summed:
		return errNoSum
	case !bytes.HasPrefix(text, []byte(noSumBegin)):
		return errForm
	}
	return nil
}

// broken reports whether an error is that of a line that a crash may have left at the end of a
// file.
func broken(err error) bool {
	syntax := (*json.SyntaxError)(nil)
	return errors.As(err, &syntax) || errors.Is(err, errSum)
}

func misnumbered(got, want int64) error {
	return fmt.Errorf("the record is numbered %d, not %d", got, want)
}

// stream yields the records in the good part of a file, from a number on. It checks the lines
// before, and ends without an error only if all are there.
func stream(ctx context.Context, file io.ReaderAt, good extent, number int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		l := newLines(io.NewSectionReader(file, 0, good.size))
		for l.next < good.size {
			text, err := l.good(ctx)
			if err == nil && l.line < number {
				continue
			}
			var read line
			if err == nil {
				read, err = l.decode(text)
			}
			if !yield(read.Record, err) || err != nil {
				return
			}
		}
		if l.line != good.records {
			yield(Record{}, l.corrupt(misnumbered(good.records, l.line)))
		}
	}
}

// tail returns the extent of a file whose last line is complete, fits its checksum and ends its
// Append. Such a file was not torn, although it may be damaged elsewhere. Ok is false for any other
// file, which needs a survey. Tail reads only the last line.
func tail(file io.ReaderAt, size int64) (good extent, ok bool, err error) {
	var text []byte
	for n := min(int64(4<<10), size); n > 0 && !ok; n = min(4*n, size) {
		text = make([]byte, n)
		if got, err := file.ReadAt(text, size-n); err != nil && !(err == io.EOF && got == len(text)) {
			return extent{}, false, err
		}
		if text[n-1] != '\n' || bytes.IndexByte(text, 0) >= 0 {
			return extent{}, false, nil
		}
		at := bytes.LastIndexByte(text[:n-1], '\n') + 1
		if ok = at > 0 || n == size; ok {
			text = text[at:]
		}
	}
	if summed, err := checkSum(text); err != nil || !summed {
		return extent{}, false, nil
	}
	h, err := decodeLine(text)
	if err != nil || h.More {
		return extent{}, false, nil
	}
	return extent{records: h.N, size: size}, true, nil
}

// good returns the next line of a file, which must exist and fit its checksum.
func (l *lines) good(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	text, err := l.read()
	if err == io.EOF {
		return nil, l.corrupt(io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, err
	}
	if err := l.check(text); err != nil {
		return nil, l.corrupt(err)
	}
	return text, nil
}

// decode decodes the line read last.
func (l *lines) decode(text []byte) (line, error) {
	read, err := decodeLine(text)
	if err == nil {
		err = l.numbered(read)
	}
	if err != nil {
		return line{}, l.corrupt(err)
	}
	read.Data = bytes.Clone(read.Data)
	return read, nil
}

// numbered returns an error unless the line read last has its number.
func (l *lines) numbered(read line) error {
	if read.N != l.line {
		return misnumbered(read.N, l.line)
	}
	return nil
}
