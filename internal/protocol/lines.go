package protocol

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine limits a line, in bytes, images included.
const MaxLine = 32 << 20

// errTooLong means that a line was skipped because it is too long.
var errTooLong = errors.New("the line is longer than 32 MiB")

// lineReader reads lines of a bounded length, from a stream that need not be one of lines at all.
type lineReader struct {
	in  *bufio.Reader
	max int
	n   int // the number of the line that next returned last, from 1
}

func newLineReader(in io.Reader, most int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 64<<10), max: most}
}

// next returns the next line without its end. The last line needs no end. A line that is too long
// is skipped whole and is an errTooLong.
func (r *lineReader) next() (line []byte, err error) {
	r.n++
	tooLong := false
	for {
		piece, err := r.in.ReadSlice('\n')
		if !tooLong && len(line)+len(bytes.TrimSuffix(piece, []byte("\n"))) > r.max {
			tooLong, line = true, nil
		}
		if !tooLong {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return nil, errTooLong
		case err != nil && len(line) == 0:
			return nil, err
		}
		if r.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // which some programs begin with
		}
		return bytes.TrimRight(line, "\r\n"), nil // an error comes again
	}
}
