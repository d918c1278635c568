package texts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// ErrTooLong means that a line was skipped because it is too long.
var ErrTooLong = errors.New("the line is too long")

// KeptOfLong is how many bytes are kept of the beginning of a line that is too long.
const KeptOfLong = 4 << 10

// Lines reads lines of a bounded length, from a stream that need not be one of lines at all.
type Lines struct {
	N int // the number of the line that Next returned last, from 1

	in  *bufio.Reader
	max int
}

// NewLines returns a reader of lines of at most so many bytes.
func NewLines(in io.Reader, most int) *Lines {
	return &Lines{in: bufio.NewReaderSize(in, 64<<10), max: most}
}

// Next returns the next line without its end. The last line needs no end. Of a line that is too
// long it returns the beginning and ErrTooLong; the rest is skipped.
func (l *Lines) Next() (line []byte, err error) {
	l.N++
	tooLong := false
	for {
		piece, err := l.in.ReadSlice('\n')
		if !tooLong {
			line = append(line, piece...)
		}
		if len(bytes.TrimSuffix(line, []byte("\n"))) > l.max {
			tooLong, line = true, bytes.Clone(line[:min(KeptOfLong, l.max)])
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong && (err == nil || errors.Is(err, io.EOF)):
			return line, ErrTooLong
		case err != nil && len(line) == 0:
			return nil, err
		}
		if l.N == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // which some programs begin with
		}
		return bytes.TrimRight(line, "\r\n"), nil // an error comes again
	}
}

// ChangedLines counts the lines that a unified diff of one file adds and removes.
func ChangedLines(diff string) (added, removed int) {
	inHunk := false
	for line := range strings.Lines(diff) {
		switch {
		case strings.HasPrefix(line, "@@"):
			inHunk = true
		case inHunk && line[0] == '+':
			added++
		case inHunk && line[0] == '-':
			removed++
		}
	}
	return added, removed
}
