package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/texts"
)

const (
	firstChunk = 64 << 10 // fits into a processor's cache; longer lines and long context need more
	maxChunk   = 4 << 20  // a longer line is searched in pieces of this size
	binaryPeek = 8 << 10  // a NUL byte in so many bytes makes a file binary
	maxLine    = 1000     // bytes of a line that are returned
	leadIn     = 200      // bytes of a long line that are returned before the match
)

// errPieces says that a match which spans two pieces of a line may be missing.
var errPieces = fmt.Errorf("a line is longer than %d MiB and was searched in pieces, so a match in it may be missing",
	maxChunk>>20)

// scanner searches one file after another and reuses its buffers.
type scanner struct {
	*matcher
	query *Query
	limit int    // of buf
	buf   []byte // grows up to limit
	dfa   *dfa   // made when it is first needed
	tried int    // of matcher.programs; dfa runs the last of them

	// The file that is being searched:
	ctx   context.Context
	found FileMatches
	line  int // number of the line that buf[at] is in
	at    int
	shown int  // end of the last line in found.Lines, as an offset in buf
	again bool // the text begins within a long line that has already matched
	owed  int  // context lines after the last match that are still to be shown
}

// scan searches one file, and reports whether it is a text file. It stops after Max+1 matches, so
// that the caller can tell whether there are more than Max, and when the context ends. With an
// error for a text file, some of its matches may be missing.
func (s *scanner) scan(ctx context.Context, r io.Reader) (found FileMatches, text bool, err error) {
	s.ctx = ctx
	s.found, s.line, s.at, s.shown, s.owed, s.again = FileMatches{}, 1, 0, 0, 0, false
	if s.buf == nil {
		s.buf = make([]byte, min(firstChunk, s.limit))
	}
	from, n := 0, 0 // buf[:from] was searched, buf[:n] is filled
	var pieces error
	for first := true; ; first = false {
		n, err = s.fill(r, n)
		if err != nil && !errors.Is(err, io.EOF) {
			return FileMatches{}, false, err
		}
		if first {
			if bytes.IndexByte(s.buf[:min(n, binaryPeek)], 0) >= 0 {
				return FileMatches{}, false, nil
			}
			if bytes.HasPrefix(s.buf[:n], []byte("\ufeff")) {
				from = len("\ufeff")
				s.at, s.shown = from, from
			}
		}
		end := n
		if err == nil {
			i := bytes.LastIndexByte(s.buf[from:n], '\n')
			if i < 0 && s.grow() {
				continue
			}
			if i >= 0 {
				end = from + i + 1
			}
		}
		if done := s.chunk(s.buf[:end], from); done || err != nil || ctx.Err() != nil {
			return s.found, true, pieces
		}
		if s.buf[end-1] != '\n' && !s.again {
			pieces = errPieces
		}
		n, from = s.keep(end, n)
	}
}

// fill reads until the buffer is full. At the end of the file the error is io.EOF.
func (s *scanner) fill(r io.Reader, n int) (int, error) {
	m, err := io.ReadFull(r, s.buf[n:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n + m, err
}

// grow makes the buffer larger, up to its limit, and reports whether it could.
func (s *scanner) grow() bool {
	more := min(3*len(s.buf), s.limit-len(s.buf))
	s.buf = append(s.buf, make([]byte, more)...)
	return more > 0
}

// keep moves to the front of the buffer what the next chunk needs: the unsearched rest, and the
// lines before it that may become context. It returns the size of that, and where the rest begins.
func (s *scanner) keep(end, n int) (kept, from int) {
	start := end
	if s.query.Mode == Lines {
		start = linesBack(s.buf, end, s.query.Before)
	}
	if n-start > s.limit/2 {
		start = end // the context is so long that it would leave no room
	}
	s.numberAt(start)
	copy(s.buf, s.buf[start:n])
	s.at, s.shown = 0, max(0, s.shown-start)
	if n-start > len(s.buf)/2 {
		s.grow()
	}
	return n - start, end - start
}

// chunk searches the lines from an offset on; those before it serve as context. It reports whether
// the file is done.
func (s *scanner) chunk(text []byte, from int) bool {
	if from = s.skip(text, from); from == len(text) {
		return false
	}
	literal := s.grams != nil && !s.grams.set.foldOddly(text) // which is faster
	for pos := from; pos < len(text); {
		start, end, ok := s.next(text, pos, literal)
		if !ok {
			break
		}
		s.found.Count++
		if s.query.Mode == Lines {
			s.show(text, start, end)
		}
		if s.query.Mode == Files || s.query.Mode == Lines && s.query.Max > 0 && s.found.Count > s.query.Max {
			return true
		}
		pos = end
		s.again = text[end-1] != '\n'
	}
	if s.query.Mode == Lines {
		s.showAfter(text, len(text))
	}
	return false
}

// skip returns where to continue behind the rest of a line that has already matched.
func (s *scanner) skip(text []byte, from int) int {
	if s.again && from < len(text) {
		_, from = lineAround(text, from)
		s.again = text[from-1] != '\n'
		s.shown = max(s.shown, from)
	}
	return from
}

// next finds the first matching line at or after an offset, by the literals or else by the
// expression. A line includes its newline.
func (s *scanner) next(text []byte, pos int, literal bool) (start, end int, ok bool) {
	for pos < len(text) {
		at, known := pos, false
		if literal {
			at, known = s.grams.find(text, pos), true
		} else if d := s.machine(); d != nil {
			at, known = d.find(text, pos)
		}
		if known && at < 0 {
			break
		}
		start, end = lineAround(text, max(at, pos))
		start = max(start, pos) // a line that is searched in pieces
		switch {
		case literal:
			ok = s.grams.set.exact || s.matches(text[start:end])
		case known && s.dfa.sure(text[start:at+1]):
			ok = true
		default:
			ok = s.match(s.content(text[start:end]))
		}
		if ok {
			return start, end, true
		}
		pos = end
	}
	return 0, 0, false
}

// matches tries one line.
func (s *scanner) matches(line []byte) bool {
	if d := s.machine(); d != nil {
		at, known := d.find(line, 0)
		if known && (at < 0 || d.sure(line[:at+1])) {
			return at >= 0
		}
	}
	return s.match(s.content(line))
}

// machine returns the scanner's dfa, or nil if the expression needs too many states.
func (s *scanner) machine() *dfa {
	for (s.dfa == nil || s.dfa.full) && s.tried < len(s.programs) {
		s.dfa = newDFA(s.programs[s.tried], s.tried > 0)
		s.tried++
	}
	if s.dfa.full {
		return nil
	}
	return s.dfa
}

// content returns a line without its end.
func (s *scanner) content(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if s.keepCR {
		return line
	}
	return bytes.TrimSuffix(line, []byte("\r"))
}

// lineAround returns the bounds of the line around an offset, with its newline.
func lineAround(text []byte, at int) (start, end int) {
	start = bytes.LastIndexByte(text[:at], '\n') + 1
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return start, at + i + 1
	}
	return start, len(text)
}

// linesBack returns the start of the nth line before the line that starts at an offset.
func linesBack(text []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		at = bytes.LastIndexByte(text[:at-1], '\n') + 1
	}
	return at
}

// show adds a matching line with the lines around it.
func (s *scanner) show(text []byte, start, end int) {
	s.showAfter(text, start)
	for at := max(s.shown, linesBack(text, start, s.query.Before)); at < start; {
		_, next := lineAround(text, at)
		s.add(text, at, next, false)
		at = next
	}
	s.add(text, start, end, true)
	s.owed = s.query.After
}

// showAfter adds the context lines after the last match that are still owed and begin before limit.
func (s *scanner) showAfter(text []byte, limit int) {
	for s.owed > 0 && s.shown < limit {
		_, end := lineAround(text, s.shown)
		s.add(text, s.shown, end, false)
		s.owed--
	}
}

func (s *scanner) add(text []byte, start, end int, match bool) {
	s.numberAt(start)
	line := Line{Number: s.line, Match: match}
	content := bytes.TrimSuffix(bytes.TrimSuffix(text[start:end], []byte("\n")), []byte("\r"))
	from, to := 0, len(content)
	if to > maxLine {
		start := 0
		if match {
			start = s.matchStart(content)
			from = max(0, start-leadIn)
		}
		to = min(to, from+maxLine)
		from = min(texts.TokenEnd(content, from), start)
		if token := texts.TokenStart(content, to); to < len(content) && token > start {
			to = token
		}
		from, to = runeStart(content, from), runeStart(content, to)
	}
	line.Text, line.CutBefore, line.CutAfter = string(content[from:to]), from, len(content)-to
	s.found.Lines = append(s.found.Lines, line)
	s.shown = end
}

// numberAt sets the line number to that of an offset.
func (s *scanner) numberAt(at int) {
	if at > s.at {
		s.line += bytes.Count(s.buf[s.at:at], []byte("\n"))
	} else {
		s.line -= bytes.Count(s.buf[at:s.at], []byte("\n"))
	}
	s.at = at
}

// runeStart returns the offset of the start of the character around an offset.
func runeStart(text []byte, at int) int {
	for i := 0; i < utf8.UTFMax && at > 0 && at < len(text) && !utf8.RuneStart(text[at]); i++ {
		at--
	}
	return at
}
