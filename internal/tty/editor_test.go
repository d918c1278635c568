package tty

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// typed presses keys in an empty editor. A > stands for the cursor in what it returns.
func typed(keys ...Key) string {
	var e Editor
	for _, k := range keys {
		e.Key(k)
	}
	return e.withCursor()
}

func (e *Editor) withCursor() string {
	var b strings.Builder
	for i, c := range e.cells {
		if i == e.at {
			b.WriteByte('>')
		}
		b.WriteString(c.text)
	}
	if e.at == len(e.cells) {
		b.WriteByte('>')
	}
	return b.String()
}

func TestN3_Editing(t *testing.T) {
	text := func(s string) Key { return Key{Text: s} }
	key := func(c Code) Key { return Key{Code: c} }
	for _, c := range []struct {
		want string
		keys []Key
	}{
		{"ab>c", []Key{text("ac"), key(KeyLeft), text("b")}},
		{"go >", []Key{text("go test"), key(KeyCutWord)}},
		{"one two>", []Key{text("one two"), key(KeyCutWord), key(KeyInsertCut)}},
		{"one >two", []Key{text("one two"), key(KeyWordLeft)}},
		{"a\nb>", []Key{text("a"), key(KeyNewline), text("b")}},
		{"a\n>", []Key{text("a"), key(KeyNewline), text("b"), key(KeyCutStart)}},
		{">\nb", []Key{text("a"), key(KeyNewline), text("b"), key(KeyLeft), key(KeyLeft), key(KeyBackspace)}},
		{"世>", []Key{text("世界"), key(KeyBackspace)}},
		{"e>", []Key{text("ee"), text("\u0301"), key(KeyBackspace)}}, // the mark goes with its letter
		{"👩‍👩‍👧>", []Key{text("👩‍👩‍👧👍🏽"), key(KeyBackspace)}},
		{"\\u{1b}[31mred>", []Key{{Code: KeyPaste, Text: "\x1b[31mred\n"}}},
		{">", []Key{{Code: KeyPaste, Text: strings.Repeat("line\n", 120)}, key(KeyBackspace)}},
	} {
		if got := typed(c.keys...); got != c.want {
			t.Errorf("%v gives %q, want %q", c.keys, got, c.want)
		}
	}
}

// The word that is replaced is the one that was returned, even if its characters were typed apart
// and would be one together.
func TestN3_ReplaceWord(t *testing.T) {
	var e Editor
	e.Insert("say\n\u0301")
	e.Key(Key{Code: KeyLeft})
	e.Insert("a")
	e.Key(Key{Code: KeyRight})
	if word, _ := e.Word(); word != "a\u0301" {
		t.Fatalf("the word is %q", word)
	}
	e.ReplaceWord("bye")
	if text := e.String(); text != "say\nbye" {
		t.Errorf("the text is %q", text)
	}
}

// A long paste is shown as one word and sent whole.
func TestN3_FoldedPaste(t *testing.T) {
	var e Editor
	page := strings.Repeat("a line\n", 119) + "the last"
	e.Insert("see ")
	e.Paste(page)
	rows, row, column := e.Rows("> ", 79, 10)
	if diff := cmp.Diff([]string{"> see [pasted 120 lines]"}, rows); diff != "" || row != 0 || column != 24 {
		t.Errorf("%s the cursor is in row %d, column %d", diff, row, column)
	}
	if e.String() != "see "+page {
		t.Errorf("the text is %q", e.String())
	}
}

// Rows wrap by columns, wide characters do not stand in half, and the rows around the cursor are
// shown.
func TestN3_Rows(t *testing.T) {
	var e Editor
	e.Insert("abcdefg世界h")
	rows, row, column := e.Rows("> ", 10, 5)
	if diff := cmp.Diff([]string{"> abcdefg", "  世界h"}, rows); diff != "" || row != 1 || column != 7 {
		t.Errorf("%s the cursor is in row %d, column %d", diff, row, column)
	}
	e.Set(strings.Repeat("x\n", 50))
	if rows, row, _ := e.Rows("> ", 10, 4); len(rows) != 4 || row != 3 {
		t.Errorf("%d rows, the cursor in row %d: %q", len(rows), row, rows)
	}
	for e.Up() {
	}
	if rows, row, _ := e.Rows("> ", 10, 4); len(rows) != 4 || row != 0 || rows[0] != "> x" {
		t.Errorf("%d rows, the cursor in row %d: %q", len(rows), row, rows)
	}
}

// Whatever is typed, rows fit, the cursor is in one, and the rows have the text.
func TestN3_RowsOfAnything(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		var e Editor
		for _, k := range rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Key {
			return Key{Code: Code(rapid.IntRange(0, int(KeyTooLong)).Draw(t, "code")),
				Text: rapid.StringOf(rapid.SampledFrom([]rune("ab 世é\u0301👍🏽\u200d\n\t\x1b"))).Draw(t, "text")}
		}), 0, 30).Draw(t, "keys") {
			e.Key(k)
		}
		width := rapid.IntRange(10, 40).Draw(t, "width")
		rows, row, column := e.Rows("> ", width, 5)
		if row < 0 || row >= len(rows) || len(rows) > 5 || column < 0 || column >= width+1 {
			t.Fatalf("the cursor is in row %d of %d, column %d of %d", row, len(rows), column, width)
		}
		for _, text := range rows {
			if displaywidth.String(text) > width || strings.ContainsAny(text, "\n\t\x1b") {
				t.Fatalf("the row %q", text)
			}
		}
	})
}

// A history outlives the process, in a file of the user alone.
func TestN3_History(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", "history")
	h, err := OpenHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"first", "second\nwith a line", "second\nwith a line", " "} {
		if err := h.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file: %v %v", info, err)
	}
	if h, err = OpenHistory(file); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for entry, ok := h.Older("new"); ok; entry, ok = h.Older(entry) {
		seen = append(seen, entry)
	}
	for entry, ok := h.Newer(); ok; entry, ok = h.Newer() {
		seen = append(seen, entry)
	}
	if diff := cmp.Diff([]string{"second\nwith a line", "first", "second\nwith a line", "new"}, seen); diff != "" {
		t.Error(diff)
	}
	if entry, ok := h.Find("irs"); !ok || entry != "first" {
		t.Errorf("found %q", entry)
	}
}

// The file of a history stays small.
func TestN3_HistoryIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	h, err := OpenHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		if err := h.Add(strings.Repeat("x", maxEntry-10-i%2)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() > maxFile {
		t.Errorf("the file: %v %v", info, err)
	}
	if h, err = OpenHistory(file); err != nil || len(h.entries) == 0 {
		t.Errorf("%d entries, %v", len(h.entries), err)
	}
}

// A text counts as typed if its first character was, also when it was cut and put back.
func TestX9_Typed(t *testing.T) {
	text := func(s string) Key { return Key{Text: s} }
	paste := func(s string) Key { return Key{Code: KeyPaste, Text: s} }
	for name, c := range map[string]struct {
		want bool
		keys []Key
	}{
		"nothing":         {false, nil},
		"typed":           {true, []Key{text("!ls")}},
		"pasted":          {false, []Key{paste("!ls")}},
		"folded":          {false, []Key{paste("!ls\n" + strings.Repeat("line\n", 20))}},
		"pasted, a mark":  {false, []Key{paste("!"), text("\u0301")}},
		"pasted and more": {false, []Key{paste("!"), text("ls")}},
		"a pasted end":    {true, []Key{text("!"), paste("ls")}},
		"cut, put back":   {false, []Key{paste("!ls"), {Code: KeyCutStart}, {Code: KeyInsertCut}}},
		"before a paste":  {true, []Key{paste("ls"), {Code: KeyHome}, text("!")}},
	} {
		var e Editor
		for _, k := range c.keys {
			e.Key(k)
		}
		if e.Typed() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	var e Editor
	if e.SetPasted("!ls"); e.Typed() || e.String() != "!ls" {
		t.Errorf("typed: %q", e.String())
	}
}
