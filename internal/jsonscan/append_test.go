package jsonscan_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/jsonscan"
)

// AppendString writes what encoding/json writes.
func FuzzK5_AppendString(f *testing.F) {
	for c := range rune(256) {
		f.Add(string(c) + "é" + string(c))
	}
	for _, seed := range []string{"", "<é>&\u2028 \u2029", "\xff\xfe", "a\xe2\x82", "\ufffd", "😀\xf0", "\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want strings.Builder
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got := "x" + want.String(); string(jsonscan.AppendString([]byte("x"), text))+"\n" != got {
			t.Fatalf("AppendString of %q = %s, want %s", text, jsonscan.AppendString(nil, text), want.String())
		}
	})
}
