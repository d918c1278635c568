package api

import (
	"encoding/json"
	"strings"
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

// Whatever the scanner accepts, encoding/json decodes the same way.
func FuzzText(f *testing.F) {
	for _, s := range []string{`"plain"`, `"a\"b\\c\/\b\f\n\r\t"`, `"\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83d\u0041"`, `"\ude00\ud83d\ude00"`,
		`"\ud83dx"`, `"\u12"`, `"\x"`, `"open`, `"\`, "\"\xff\"", "\"a\nb\"", `"x" `, `  "x"`, `"x"y`, `"` + strings.Repeat(`\n`, 300) + `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Scan(b)
		got := s.Text()
		s.End()
		var want string
		err := json.Unmarshal(b, &want)
		if s.OK() && (err != nil || got != want) {
			t.Errorf("%q: scanned %q, encoding/json reads %q (%v)", b, got, want, err)
		}
		if !s.OK() && err == nil && utf8.Valid(b) && b[0] == '"' && !strings.Contains(string(b), "\uFFFD") {
			t.Errorf("%q: not scanned, although it is an ordinary string", b)
		}
	})
}

func FuzzInt(f *testing.F) {
	for _, s := range []string{"0", "7", "10", "01", "-1", "123456789", "99999999999", "1.5", "1e3", " 2 ", ""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := Scan(b)
		got := s.Int()
		s.End()
		var want int
		if err := json.Unmarshal(b, &want); s.OK() && (err != nil || got != want) {
			t.Errorf("%q: %d, want %d (%v)", b, got, want, err)
		}
	})
}
