package journal

import (
	"bytes"
	"context"
	"io"
	"strconv"
)

// locateStep is about how much of a file is read to find a line, beside the line itself.
const locateStep = 32 << 10

// linesFrom returns the lines of the good part of a file, positioned at the line with a number or
// shortly before it. It bisects the file by the numbers in the lines, so it reads little of a long
// file. If it finds something odd, it begins with the first line, so that reading reports what is
// wrong.
func linesFrom(ctx context.Context, file io.ReaderAt, good extent, number int64) *lines {
	whole := newLines(io.NewSectionReader(file, 0, good.size))
	if number <= 2 || good.size <= locateStep {
		return whole
	}
	if _, err := whole.good(ctx); err == nil { // the first line says whether lines have checksums
		if at, line := locate(file, good, number); line > 1 {
			l := newLines(io.NewSectionReader(file, at, good.size-at))
			l.line, l.next, l.summed = line-1, at, whole.summed
			return l
		}
	}
	return newLines(io.NewSectionReader(file, 0, good.size))
}

// locate bisects a file. It returns the offset and the number of the line with the wanted number,
// or of one shortly before it. The number is 0 if something in the file is odd.
func locate(file io.ReaderAt, good extent, number int64) (at, line int64) {
	at, line = 0, 1
	for end := good.size; end-at > locateStep; { // the line begins in between
		middle := at + (end-at)/2
		begin, n, ok := lineAfter(file, middle, end)
		switch {
		case !ok:
			return 0, 0
		case begin == end: // a long line, with nothing behind it
			end = middle
		case n <= number:
			at, line = begin, n
		default:
			end = begin
		}
	}
	return at, line
}

// lineAfter returns the offset and the number of the first line that begins after a place, or end
// if none begins before end.
func lineAfter(file io.ReaderAt, place, end int64) (at, number int64, ok bool) {
	buf := make([]byte, 4<<10)
	for ; place < end; place += int64(len(buf)) {
		n, err := file.ReadAt(buf[:min(int64(len(buf)), end-place)], place)
		if err != nil && err != io.EOF {
			return 0, 0, false
		}
		if i := bytes.IndexByte(buf[:n], '\n'); i >= 0 {
			at = place + int64(i) + 1
			break
		}
		if err != nil {
			return 0, 0, false
		}
	}
	if at == 0 || at >= end {
		return end, 0, true
	}
	n, err := file.ReadAt(buf[:min(64, end-at)], at)
	if err != nil && err != io.EOF {
		return 0, 0, false
	}
	number, ok = numberOf(buf[:n])
	return at, number, ok
}

// numberOf returns the number of a line from its beginning.
func numberOf(text []byte) (number int64, ok bool) {
	if bytes.HasPrefix(text, []byte(sumBegin)) && len(text) > sumLength {
		text = append([]byte("{"), text[sumLength:]...)
	}
	text, ok = bytes.CutPrefix(text, []byte(noSumBegin))
	digits, _, found := bytes.Cut(text, []byte(","))
	if !ok || !found {
		return 0, false
	}
	number, err := strconv.ParseInt(string(digits), 10, 64)
	return number, err == nil && number > 0
}
