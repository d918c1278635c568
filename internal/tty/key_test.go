package tty

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What terminals send for the keys of a line, in one piece and byte by byte.
func TestN3_Keys(t *testing.T) {
	for _, c := range []struct {
		sent string
		want []Key
	}{
		{"hé世\r", []Key{{Text: "hé世"}, {Code: KeyEnter}}},
		{"\x1b\r\n\x1b[13;2u", []Key{{Code: KeyNewline}, {Code: KeyNewline}, {Code: KeyNewline}}},
		{"\x1b[A\x1bOB\x1b[C\x1b[D\x1b[H\x1b[4~\x1b[3~\x1b[Z", []Key{{Code: KeyUp}, {Code: KeyDown}, {Code: KeyRight},
			{Code: KeyLeft}, {Code: KeyHome}, {Code: KeyEnd}, {Code: KeyDelete}, {Code: KeyBackTab}}},
		{"\x1b[1;5D\x1bf\x1b[1;3C\x17\x1b\x7f\x1bd", []Key{{Code: KeyWordLeft}, {Code: KeyWordRight},
			{Code: KeyWordRight}, {Code: KeyCutWord}, {Code: KeyCutWord}, {Code: KeyCutNextWord}}},
		{"\x03\x04\x1a\x0c\x12\x0f", []Key{{Code: KeyInterrupt}, {Code: KeyEOF}, {Code: KeySuspend}, {Code: KeyRedraw},
			{Code: KeySearch}, {Code: KeyOpen}}},
		{"\x1b[200~a\rb\r\nc\x1b[D\x1b[20\x1b[201~d",
			[]Key{{Code: KeyPaste, Text: "a\nb\nc\x1b[D\x1b[20"}, {Text: "d"}}},
		{"\x1b[?2026;2$y\x1b]11;rgb:0/0/0\x1b\\x\x1b[99;5u\x1bq\x9b", []Key{{Text: "x"}, {Code: KeyInterrupt}}},
		{"\x1b[\x1b[\x03", []Key{{Code: KeyInterrupt}}},
		{"\x1b[" + strings.Repeat("1", 300) + "x", []Key{{Text: strings.Repeat("1", 300-63) + "x"}}},
	} {
		whole := new(Decoder).Decode([]byte(c.sent))
		if diff := cmp.Diff(c.want, whole); diff != "" {
			t.Errorf("%q: %s", c.sent, diff)
		}
		var d Decoder
		var single []Key
		for i := range len(c.sent) {
			for _, k := range d.Decode([]byte{c.sent[i]}) {
				single = join(single, k)
			}
		}
		if !slices.Equal(whole, single) {
			t.Errorf("%q byte by byte: %v, in one piece %v", c.sent, single, whole)
		}
	}
}

// Escape is a key only if nothing follows it.
func TestN3_EscapeAlone(t *testing.T) {
	var d Decoder
	if keys := d.Decode([]byte("a\x1b")); len(keys) != 1 || !d.Waiting() {
		t.Fatalf("keys %v, waiting %v", keys, d.Waiting())
	}
	if keys := d.Flush(); len(keys) != 1 || keys[0].Code != KeyEscape || d.Waiting() {
		t.Errorf("keys %v, waiting %v", keys, d.Waiting())
	}
}

// A paste that is too long is dropped, and what follows it is read.
func TestN3_PasteTooLong(t *testing.T) {
	var d Decoder
	keys := d.Decode([]byte("\x1b[200~"))
	piece := []byte(strings.Repeat("x", 1<<20))
	for range maxPaste>>20 + 1 {
		keys = append(keys, d.Decode(piece)...)
	}
	keys = append(keys, d.Decode([]byte("\x1b[201~y"))...)
	if want := []Key{{Code: KeyTooLong}, {Text: "y"}}; !slices.Equal(keys, want) {
		t.Errorf("keys %v", keys)
	}
}

// FuzzN3_Keys reads arbitrary input in two pieces, which have the keys of the whole.
func FuzzN3_Keys(f *testing.F) {
	f.Add([]byte("\x1b[200~a\x1b[201~\x1b[1;5D世\x1bOB\r"), 3)
	f.Add([]byte("\x1b]0;x\a\x1b[\x1b\xff\xe4\xb8"), 1)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		var whole, pieces Decoder
		want := whole.Decode(in)
		if at < 0 || at > len(in) {
			at = 0
		}
		var got []Key
		for _, piece := range [][]byte{in[:at], in[at:]} {
			for _, k := range pieces.Decode(piece) {
				got = join(got, k)
			}
		}
		if !slices.Equal(want, got) {
			t.Errorf("%q cut at %d: %v, in one piece %v", in, at, got, want)
		}
		for _, k := range want {
			if k.Code != KeyText && k.Code != KeyPaste && k.Text != "" || k.Code == KeyText &&
				strings.ContainsFunc(k.Text, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
				t.Errorf("the key %v", k)
			}
		}
	})
}
