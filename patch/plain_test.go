package patch

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// plainFile is a file whose hunks are applied in the plainest way: each looks at every line and
// moves all lines behind it.
type plainFile struct{ lines []docLine }

func (f *plainFile) find(want []string, from int, atEnd bool, fits func(lines []docLine) bool) int {
	for _, v := range views() {
		for at := from; at+len(want) <= len(f.lines); at++ {
			here := f.lines[at : at+len(want)]
			same := func(l docLine, w string) bool { return v.like(l.text) == v.like(w) }
			if (!atEnd || at+len(want) == len(f.lines)) && slices.EqualFunc(here, want, same) && fits(here) {
				return at
			}
		}
	}
	return -1
}

func (f *plainFile) ending() string {
	crlf := 0
	lf := 0
	for _, l := range f.lines {
		if l.ending == "\r\n" {
			crlf++
		} else if l.ending != "" {
			lf++
		}
	}
	if crlf > lf {
		return "\r\n"
	}
	return "\n"
}

// apply applies hunks and reports whether all of them were found.
func (f *plainFile) apply(hunks []Hunk) bool {
	at := 0
	for _, h := range hunks {
		for _, hint := range h.Hints {
			if at = f.find([]string{hint}, at, false, func([]docLine) bool { return true }) + 1; at == 0 {
				return false
			}
		}
		place, lines := f.locate(h, h.Lines, at)
		if n := len(h.Lines); place < 0 && n > 1 && h.Lines[n-1].Op == ' ' &&
			strings.TrimSpace(h.Lines[n-1].Text) == "" {
			place, lines = f.locate(h, h.Lines[:n-1], at)
		}
		if place < 0 {
			return false
		}
		at = f.replace(place, lines)
	}
	if n := len(f.lines); n > 0 && f.lines[n-1].ending == "" {
		f.lines[n-1].ending = f.ending()
	}
	return true
}

func (f *plainFile) locate(h Hunk, lines []HunkLine, at int) (place int, fresh []HunkLine) {
	want := oldLines(lines)
	if len(oldLines(h.Lines)) == 0 {
		if len(h.Hints) == 0 {
			at = len(f.lines)
		}
		return at, lines
	}
	fits := func(here []docLine) (ok bool) {
		fresh, ok = (&document{lines: here}).reindent(lines, 0)
		return ok
	}
	if place = f.find(want, at, h.EndOfFile, fits); place < 0 && len(h.Hints) > 0 {
		if place = f.find(want, at-1, h.EndOfFile, fits); place != at-1 {
			return -1, nil
		}
	}
	return place, fresh
}

func (f *plainFile) replace(at int, lines []HunkLine) int {
	ending := f.ending()
	if at > 0 && at == len(f.lines) && f.lines[at-1].ending == "" {
		f.lines[at-1].ending = ending
	}
	var fresh []docLine
	i, instead := at, ending
	for _, l := range lines {
		switch l.Op {
		case ' ':
			fresh = append(fresh, f.lines[i])
			i, instead = i+1, ending
		case '-':
			if f.lines[i].ending != "" {
				instead = f.lines[i].ending
			}
			i++
		default:
			fresh = append(fresh, docLine{l.Text, instead})
		}
	}
	for j := range fresh {
		if fresh[j].ending == "" && (j < len(fresh)-1 || i < len(f.lines)) {
			fresh[j].ending = ending
		}
	}
	f.lines = slices.Concat(f.lines[:at], fresh, f.lines[i:])
	return at + len(fresh)
}

// drawHunk draws a hunk whose old lines are lines of the file, as a model would copy them, or are
// not in it.
func drawHunk(t *rapid.T, lines []docLine, text *rapid.Generator[string]) Hunk {
	h := Hunk{EndOfFile: rapid.IntRange(0, 9).Draw(t, "end of file") == 0}
	if rapid.IntRange(0, 3).Draw(t, "hint") == 0 && len(lines) > 0 {
		h.Hints = []string{rapid.SampledFrom(lines).Draw(t, "hint").text}
	}
	from := rapid.IntRange(0, len(lines)).Draw(t, "from")
	for _, l := range lines[from:min(len(lines), from+rapid.IntRange(0, 4).Draw(t, "old lines"))] {
		old := HunkLine{Op: rapid.SampledFrom([]byte(" -")).Draw(t, "op"), Text: l.text}
		switch rapid.IntRange(0, 9).Draw(t, "copied") {
		case 0:
			old.Text += " "
		case 1:
			old.Text = "\t" + old.Text
		case 2:
			old.Text = strings.ReplaceAll(old.Text, "“", `"`)
		}
		h.Lines = append(h.Lines, old)
		if rapid.IntRange(0, 2).Draw(t, "add") == 0 {
			h.Lines = append(h.Lines, HunkLine{'+', text.Draw(t, "added")})
		}
	}
	if len(h.Lines) == 0 {
		h.Lines = []HunkLine{{'+', text.Draw(t, "added")}}
	}
	return h
}

// TestK7_AsThePlainWay compares the results of random hunks with those of the plainest way.
func TestK7_AsThePlainWay(t *testing.T) {
	applied, sorted := 0, 0
	seed.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom([]string{"a", "b", "  b", "\tb", "a ", "“a”", "", "c", " "})
		var content strings.Builder
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			content.WriteString(text.Draw(t, "line") + rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t,
				"ending"))
		}
		content.WriteString(rapid.SampledFrom([]string{"", "", "c"}).Draw(t, "last line"))
		d, plain := newDocument(content.String()), &plainFile{newDocument(content.String()).lines}
		if rapid.Bool().Draw(t, "sorted") {
			for _, v := range d.views {
				v.sorted = sortLines(d.lines, v.like)
			}
			sorted++
		}
		var hunks []Hunk
		for range rapid.IntRange(1, 6).Draw(t, "hunks") {
			hunks = append(hunks, drawHunk(t, plain.lines, text))
		}
		_, err := d.apply("f", hunks)
		ok := plain.apply(hunks)
		if ok != (err == nil) {
			t.Fatalf("the plain way finds all hunks: %v; the error: %v", ok, err)
		}
		if !ok {
			return
		}
		applied++
		want := ""
		for _, l := range plain.lines {
			want += l.text + l.ending
		}
		if got := d.String(); got != want {
			t.Fatalf("the file is\n%q, want\n%q", got, want)
		}
		if d.ending() != plain.ending() {
			t.Fatalf("most lines end with %q, want %q", d.ending(), plain.ending())
		}
	})
	if applied == 0 || sorted == 0 {
		t.Fatalf("%d patches were applied, %d with sorted lines", applied, sorted)
	}
}
