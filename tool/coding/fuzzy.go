package coding

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/fuzzy"
)

// plain returns the keyboard character for a typographic one. It maps one character to one and
// never touches line ends.
func plain(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E { // full-width forms
		return r - 0xFF01 + '!'
	}
	return fuzzy.Plain(r)
}

// findPlain finds the text anywhere, ignoring typographic characters.
func findPlain(e edit, content string) []place {
	if isASCII(e.old) && isASCII(content) || strings.TrimSpace(strings.Map(plain, e.old)) == "" {
		return nil
	}
	text, widths := plainView(content)
	p := e
	p.old = strings.Map(plain, e.old)
	places := occurrences(p, text)
	size := 0
	for i := range places {
		places[i].start, places[i].end = widths.original(places[i].start), widths.original(places[i].end)
		file := strings.Split(content[places[i].start:places[i].end], "\n")
		places[i].text = keepCommon(e, file, strings.Split(e.new, "\n"))
		if size += len(places[i].text); size > maxNewText {
			return places[:i+1]
		}
	}
	return places
}

// plainOffsets maps offsets in a text of plain characters to the original.
type plainOffsets []struct{ at, lost int } // from offset at on, the original is lost bytes longer

// plainView returns a text in plain characters and its offsets. Bytes that are not UTF-8 become
// U+FFFD, as in strings.Map.
func plainView(text string) (string, plainOffsets) {
	var b strings.Builder
	b.Grow(len(text))
	var s plainOffsets
	for lost := 0; text != ""; {
		n := asciiLen(text)
		b.WriteString(text[:n])
		if text = text[n:]; text == "" {
			break
		}
		r, size := utf8.DecodeRuneInString(text)
		p := plain(r)
		b.WriteRune(p)
		if n := size - utf8.RuneLen(p); n != 0 {
			lost += n
			s = append(s, struct{ at, lost int }{b.Len(), lost})
		}
		text = text[size:]
	}
	return b.String(), s
}

// original returns the offset in the original text.
func (s plainOffsets) original(at int) int {
	after := sort.Search(len(s), func(i int) bool { return s[i].at > at })
	if after == 0 {
		return at
	}
	return at + s[after-1].lost
}

func isASCII(s string) bool { return asciiLen(s) == len(s) }

// asciiLen returns the length of the ASCII prefix of a text.
func asciiLen(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

// lineFinder finds a text that consists of whole lines, ignoring white space at their ends.
type lineFinder struct {
	reindent bool // also ignore indentation
	plain    bool // also ignore typographic characters
}

// find returns the places where the lines of the old text are. Without e.all, overlapping places
// count too, because either could be meant.
func (f lineFinder) find(e edit, content string) []place {
	if f.plain && isASCII(e.old) && isASCII(content) {
		return nil
	}
	oldText, ended := strings.CutSuffix(e.old, "\n")
	text := strings.TrimSuffix(content, "\n")
	file := strings.Split(text, "\n")
	have := file
	if f.plain {
		have = strings.Split(f.simple(text), "\n")
	}
	want := strings.Split(f.simple(oldText), "\n")
	key := -1 // index of the first line that is not blank
	for i, l := range want {
		if want[i] = f.trimmed(l); want[i] != "" && key < 0 {
			key = i
		}
	}
	if key < 0 {
		return nil
	}
	old := strings.Split(oldText, "\n")
	var places []place
	// offset of line i in the file; line at which the next match may begin; of the new texts
	offset, next, size := 0, 0, 0
	for i := 0; i+len(want) <= len(have) && len(places) <= maxPlaces && size <= maxNewText; i++ {
		if i >= next && f.trimmed(have[i+key]) == want[key] && f.equal(want, have[i:]) {
			if p, ok := f.place(e, old, file[i:i+len(want)], offset, ended); ok {
				if p.end > len(content) { // the last line has no newline and gets none
					p.text, p.end = strings.TrimSuffix(p.text, "\n"), len(content)
				}
				size += len(p.text)
				if places = append(places, p); e.all {
					next = i + len(want)
				}
			}
		}
		offset += len(file[i]) + 1
	}
	return places
}

// place returns the match at some lines of the file, or false if the indentation does not fit.
func (f lineFinder) place(e edit, old, file []string, offset int, ended bool) (place, bool) {
	fresh := strings.Split(e.new, "\n")
	if f.reindent {
		rule, ok := fuzzy.FindIndent(old, file)
		if !ok {
			return place{}, false
		}
		if fresh, ok = rule.Apply(fresh); !ok {
			return place{}, false
		}
	}
	end := offset - 1
	for _, l := range file {
		end += len(l) + 1
	}
	if ended {
		end++
		file = append(file[:len(file):len(file)], "")
	}
	return place{span{offset, end}, keepCommon(e, file, fresh)}, true
}

func (f lineFinder) equal(want, have []string) bool {
	for i, w := range want {
		if f.trimmed(have[i]) != w {
			return false
		}
	}
	return true
}

func (f lineFinder) trimmed(line string) string {
	if f.reindent {
		line = strings.TrimLeft(line, " \t")
	}
	return strings.TrimRight(line, " \t\r")
}

func (f lineFinder) simple(text string) string {
	if f.plain {
		text, _ = plainView(text)
	}
	return text
}

// keepCommon returns the new text with the file's own lines where the new text begins and ends with
// the same lines as the old one. fresh are the new text's lines, perhaps indented. The file's lines
// are as many as the old text's.
func keepCommon(e edit, file, fresh []string) string {
	old, raw := strings.Split(e.old, "\n"), strings.Split(e.new, "\n")
	most := min(len(old), len(raw))
	head := 0
	for head < most && old[head] == raw[head] {
		head++
	}
	tail := 0
	for tail < most-head && old[len(old)-1-tail] == raw[len(raw)-1-tail] {
		tail++
	}
	lines := append([]string(nil), file[:head]...)
	lines = append(lines, fresh[head:len(fresh)-tail]...)
	return strings.Join(append(lines, file[len(file)-tail:]...), "\n")
}
