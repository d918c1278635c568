package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/encoded"
	"github.com/attractor-go/attractor/internal/texts"
)

const (
	readBuffer   = 64 << 10
	maxLineBytes = 100_000 // the most that is returned of a line
	maxReadBytes = 4 << 20 // the most that one call returns
	numberWidth  = 3       // least width of line numbers

	// A line of minDense bytes is dense if at most one of densePerBlank bytes is a blank or part of
	// a character beyond ASCII; prose has more, also that of languages without blanks. Of a dense
	// line, such as that of a minified script, shownOfDense bytes are shown.
	minDense      = 5_000
	densePerBlank = 12
	shownOfDense  = 2_000
)

// excerpt holds some lines of a file, without their ends.
type excerpt struct {
	lines []string
	more  bool // the file goes on
	full  bool // maxReadBytes were reached before limit
	total int  // number of lines in the file, if lines is empty
}

// readLines reads limit lines, starting with line first. It holds no other lines in memory.
func readLines(ctx context.Context, r *bufio.Reader, first, limit int) (excerpt, error) {
	var x excerpt
	if bom, err := r.Peek(3); err == nil && string(bom) == "\ufeff" {
		if _, err := r.Discard(len(bom)); err != nil { // a byte order mark would be shown in the first line
			return x, err
		}
	}
	skipped, err := skipLines(ctx, r, first-1)
	if err != nil || skipped < first-1 {
		x.total = skipped
		return x, err
	}
	x.total = skipped
	for size := 0; len(x.lines) < limit; {
		line, err := readLine(ctx, r)
		if isEOF(err) {
			return x, nil
		}
		if err != nil {
			return x, err
		}
		x.lines = append(x.lines, line)
		if size += len(line); size >= maxReadBytes {
			x.full = true
			break
		}
	}
	_, err = r.Peek(1)
	x.more = err == nil
	x.full = x.full && x.more
	if isEOF(err) {
		err = nil
	}
	return x, err
}

// skipLines skips n lines and returns how many there were. An unfinished last line counts.
func skipLines(ctx context.Context, r *bufio.Reader, n int) (skipped int, err error) {
	open := false // inside a line
	for skipped < n {
		if err := context.Cause(ctx); err != nil {
			return skipped, err
		}
		if _, err := r.Peek(1); isEOF(err) {
			if open {
				skipped++
			}
			return skipped, nil
		} else if err != nil {
			return skipped, err
		}
		chunk, err := r.Peek(r.Buffered())
		if err != nil {
			return skipped, err
		}
		if found := bytes.Count(chunk, []byte("\n")); skipped+found < n {
			skipped += found
		} else {
			end := 0
			for ; skipped < n; skipped++ {
				end += bytes.IndexByte(chunk[end:], '\n') + 1
			}
			chunk = chunk[:end]
		}
		open = chunk[len(chunk)-1] != '\n'
		if _, err := r.Discard(len(chunk)); err != nil {
			return skipped, err
		}
	}
	return skipped, nil
}

// readLine reads a line without its end. It keeps the beginning of a very long line and says so in
// the line.
func readLine(ctx context.Context, r *bufio.Reader) (string, error) {
	var line []byte
	dropped := 0
	for {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		piece, err := r.ReadSlice('\n')
		if isEOF(err) && len(piece) == 0 && line == nil {
			return "", io.EOF
		}
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		n := min(len(piece), maxLineBytes-len(line))
		line = append(line, piece[:n]...)
		dropped += len(piece) - n
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !isEOF(err) {
			return "", err
		}
		if dropped == 0 && ended {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if short, found := encoded.Shorten(string(line)); found {
			line = []byte(short)
		}
		if isDense(line) {
			kept := wholeRunes(line[:texts.TokenStart(line, shownOfDense)])
			return fmt.Sprintf("%s [... the line goes on for %d more bytes; a program seems to have written it, so "+
				"search in it instead]", kept, dropped+len(line)-len(kept)), nil
		}
		if dropped == 0 {
			return string(line), nil
		}
		kept := wholeRunes(line[:texts.TokenStart(line, len(line))])
		return fmt.Sprintf("%s [... the line goes on for %d more bytes]", kept, dropped+len(line)-len(kept)), nil
	}
}

// isDense reports whether a line is long and is not prose.
func isDense(line []byte) bool {
	if len(line) < minDense {
		return false
	}
	prose := 0
	for _, c := range line {
		if c == ' ' || c >= utf8.RuneSelf {
			prose++
		}
	}
	return densePerBlank*prose <= len(line)
}

// wholeRunes removes an incomplete character from the end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if start := b[len(b)-i:]; utf8.RuneStart(start[0]) {
			if !utf8.FullRune(start) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// Numbering writes the number of a line and what separates it from the line. width is the length of
// the longest number, at least 3.
type Numbering func(b *strings.Builder, n, width int)

// BarNumbers is the [Numbering] of read_file: `NNN | text`.
func BarNumbers(b *strings.Builder, n, width int) { fmt.Fprintf(b, "%*d | ", width, n) }

func (write Numbering) lines(lines []string, first int) string {
	width := max(numberWidth, len(strconv.Itoa(first+len(lines)-1)))
	var b strings.Builder
	for i, line := range lines {
		write(&b, first+i, width)
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String()
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
