package tool

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/llmtest"
)

// Of a long value that is encoded for machines, the beginning, the length and the kind are seen.
func TestU9_EncodedValues(t *testing.T) {
	data := make([]byte, 3000)
	rand.NewChaCha8([32]byte{9}).Read(data)
	std, hexed := base64.StdEncoding.EncodeToString(data), hex.EncodeToString(data)
	url := base64.RawURLEncoding.EncodeToString(data)
	var escaped strings.Builder
	for i := 0; i < len(std); i += 76 {
		escaped.WriteString(std[i:min(i+76, len(std))] + `\n`)
	}
	png := base64.StdEncoding.EncodeToString(append([]byte(llmtest.PNG), data...))
	more := func(value, kind string) string {
		return fmt.Sprintf("%s[... %d more bytes of %s]", value[:100], len(value)-100, kind)
	}
	for name, c := range map[string]struct{ text, want string }{
		"base64":      {"key: " + std + " end", "key: " + more(std, "base64") + " end"},
		"of URLs":     {url, more(url, "base64")},
		"hexadecimal": {"0x" + hexed + ";", "0x" + hexed[:98] + "[... 5902 more bytes of hexadecimal];"},
		"in a notebook": {`"image/png": "` + escaped.String() + `",`, `"image/png": "` + more(escaped.String(),
			"base64") + `",`},
		"a picture": {"data:image/png;base64," + png, "data:image/png;base64," + more(png, "base64 (image/png)")},
		"two":       {std + "\n" + url + "\n", more(std, "base64") + "\n" + more(url, "base64") + "\n"},
	} {
		got, cut := Limit{}.Apply(c.text, Gap{}, "")
		if got != c.want || !cut {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if got, cut := (Limit{Encoded: true}).Apply(c.text, Gap{}, ""); got != c.text || cut {
			t.Errorf("%s: a tool that shows such values was cut", name)
		}
	}
	for _, text := range []string{
		std[:999] + " short", strings.Repeat("x", 5000), strings.Repeat("0123456789", 500), strings.Repeat("=", 5000),
		strings.Repeat("Words of a text, and 2 more. ", 200), strings.Repeat("a/b/C1.go ", 500),
		strings.Repeat("ab/cd/", 900),
	} {
		if got, cut := (Limit{}).Apply(text, Gap{}, ""); got != text || cut {
			t.Errorf("%.40q was cut: %q", text, got)
		}
	}
	text := std + "|" + "|" + url
	got, _ := Limit{}.Apply(text, Gap{At: len(std) + 1, Bytes: 10, Chars: 10}, "Hint.")
	if want := more(std, "base64") +
		"|\n[WARNING: Tool output was truncated. 10 characters were removed from the middle. Hint.]\n|" + more(url,
		"base64"); got != want {
		t.Errorf("around a gap: %q, want %q", got, want)
	}
}
