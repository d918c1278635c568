package pieces

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// TestK11_Encode compares the JSON of values with long texts with that of encoding/json, byte for byte.
func TestK11_Encode(t *testing.T) {
	type value struct {
		Before string   `json:"before"`
		Text   string   `json:"text,omitempty"`
		List   []string `json:"list"`
		After  int      `json:"after"`
	}
	units := []string{"a", "é", "€", "😀", "\xff", "\xe2\x82", "<&>", "\"", "\\", "\n", "\x00", "\u2028", "abcdefg"}
	text := rapid.Custom(func(rt *rapid.T) string {
		unit := strings.Join(rapid.SliceOfN(rapid.SampledFrom(units), 1, 5).Draw(rt, "unit"), "")
		size := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(chunk-9, chunk+9), rapid.IntRange(0, 3*chunk)).Draw(rt, "size")
		return strings.Repeat("x", rapid.IntRange(0, 5).Draw(rt, "shift")) + strings.Repeat(unit, 1+size/len(unit))
	})
	seed.Check(t, func(rt *rapid.T) {
		v := value{Before: text.Draw(rt, "before"), Text: text.Draw(rt, "text"), List: rapid.SliceOfN(text, 0, 3).Draw(rt, "list"), After: 1}
		long := []*string{&v.Text}
		for i := range v.List {
			long = append(long, &v.List[i])
		}
		var want, got bytes.Buffer
		if err := encoder(&want).Encode(v); err != nil {
			rt.Fatal(err)
		}
		if err := Encode(&got, &v, long...); err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			rt.Fatalf("%d bytes, want %d", got.Len(), want.Len())
		}
		if n, err := Size(&v, long...); err != nil || n != want.Len() {
			rt.Fatalf("Size = %d, %v, want %d", n, err, want.Len())
		}
		got.Reset()
		if err := encoder(&got).Encode(v); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			rt.Fatalf("the value has changed: %v", err)
		}
	})
}

// TestK11_EncodeNextToBrokenText puts bytes that are not UTF-8 behind a character, so that no character begins where a piece may end.
func TestK11_EncodeNextToBrokenText(t *testing.T) {
	for shift := range 12 {
		for stray := range 6 {
			text := strings.Repeat("x", chunk-shift) + "😀" + strings.Repeat("\x80", stray) + strings.Repeat("é", 9)
			var want, got bytes.Buffer
			if err := encoder(&want).Encode(&text); err != nil {
				t.Fatal(err)
			}
			if err := Encode(&got, &text, &text); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%d bytes before the end of a piece, with %d stray bytes: %q, want %q", shift, stray, got.Bytes()[chunk-9:], want.Bytes()[chunk-9:])
			}
		}
	}
}
