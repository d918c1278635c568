package encoded

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/picture"
)

const (
	// minValue is the length from which a value is shortened, in bytes. Public keys of 4,096 bits
	// are shorter in base64.
	minValue = 1000
	// shownOfValue is the length of the beginning that is shown of a value.
	shownOfValue = 100
)

// Shorten replaces the values in a text that are encoded for machines, base64 and hexadecimal, by
// their beginning, their length and what is known of their kind. It reports whether there are any.
func Shorten(text string) (short string, found bool) {
	if len(text) < minValue {
		return text, false
	}
	var b strings.Builder
	rest := 0
	for at := 0; at < len(text); {
		n := valueAt(text[at:])
		if kind := kindOf(text[at : at+n]); kind != "" {
			b.WriteString(text[rest : at+shownOfValue])
			fmt.Fprintf(&b, "[... %d more bytes of %s]", n-shownOfValue, kind)
			rest = at + n
		}
		at += max(n, 1)
	}
	if rest == 0 {
		return text, false
	}
	return b.String() + text[rest:], true
}

// valueAt returns the length of the characters of base64 that a text begins with. An escaped line
// feed, as in the JSON of notebooks, is part of them.
func valueAt(text string) int {
	n := 0
	for n < len(text) {
		switch {
		case inBase64(text[n]):
			n++
		case strings.HasPrefix(text[n:], `\n`) && n > 0:
			n += 2
		default:
			return n
		}
	}
	return n
}

func inBase64(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}

// kindOf names what a value is, or returns "" if it is not one that only machines read.
func kindOf(value string) string {
	if len(value) < minValue {
		return ""
	}
	if strings.Trim(strings.TrimPrefix(value, "0x"), "0123456789abcdefABCDEF") == "" {
		if !strings.ContainsAny(value, "0123456789") || !strings.ContainsAny(value, "abcdefABCDEF") {
			return "" // a long number, or a word
		}
		return "hexadecimal"
	}
	if !strings.ContainsAny(value, "0123456789") || strings.ToLower(value) == value || strings.ToUpper(value) == value {
		return ""
	}
	start := strings.NewReplacer("-", "+", "_", "/", `\n`, "").Replace(value[:shownOfValue])
	data, _ := base64.StdEncoding.DecodeString(start[:len(start)&^3]) // what can be decoded tells the kind
	if media := picture.Type(data); media != "" {
		return "base64 (" + media + ")"
	}
	return "base64"
}
