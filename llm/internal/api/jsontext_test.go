package api

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\x00\x1f\x7f", "né 😀 \u2028", "\xff\xfebad\xc3", "<b>&'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := AppendString([]byte("x"), s)
		if b[0] != 'x' || !utf8.Valid(b) {
			t.Fatalf("%q", b)
		}
		var got string
		if err := json.Unmarshal(b[1:], &got); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		want, err := json.Marshal(s) // replaces invalid UTF-8 byte by byte, as we do
		if err != nil {
			t.Fatal(err)
		}
		var same string
		if err := json.Unmarshal(want, &same); err != nil || got != same {
			t.Errorf("%q became %q, not %q", s, got, same)
		}
	})
}
