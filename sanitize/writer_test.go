package sanitize

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// A Writer gives the same output however the text is split, and JSON remains the same JSON.
func TestI10_WriterForms(t *testing.T) {
	texts := []string{"plain é 漢 😀\n\ttext", `a \u{1b} b`, "\x1b[32m✓\x1b[0m \x1b[2Kfine"}
	for _, c := range terminalCases {
		texts = append(texts, c.raw)
	}
	for _, text := range texts {
		for _, size := range []int{1, 2, 3, 1000} {
			same(t, text, written(t, Plain, text, size), Text(text))
		}
		coloured := Text(text)
		for _, colour := range palette {
			coloured = strings.ReplaceAll(coloured, Text(colour), colour)
		}
		same(t, text, written(t, Coloured, text, len(text)), coloured) // a colour is written at once
		var out bytes.Buffer
		enc := json.NewEncoder(NewWriter(&out, Plain).In(JSON))
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{"text": text}); err != nil {
			t.Fatal(err)
		}
		var back struct{ Text string }
		if err := json.Unmarshal(out.Bytes(), &back); err != nil || back.Text != string([]rune(text)) {
			t.Errorf("%q came back as %q, %v", text, back.Text, err)
		}
		if problem := dirty(out.String()); problem != "" {
			t.Errorf("%q as JSON holds %s: %q", text, problem, out.String())
		}
	}
}

// written returns what a Writer lets through of a text in pieces of a size.
func written(t *testing.T, form Form, text string, size int) string {
	t.Helper()
	var out strings.Builder
	w := NewWriter(&out, form)
	for rest := text; rest != ""; {
		n := min(size, len(rest))
		if _, err := io.WriteString(w, rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	return out.String()
}

// same compares two texts but for replacements, which are one for a run only within a piece, and
// \r, which may be cut from its \n.
func same(t *testing.T, text, got, want string) {
	t.Helper()
	plain := strings.NewReplacer("\ufffd", "", `\u{d}`, "")
	if plain.Replace(got) != plain.Replace(want) {
		t.Errorf("%q became %q, want %q", text, got, want)
	}
}
