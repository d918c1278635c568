package secret

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// pattern is a text to find and the name of its secret.
type pattern struct{ text, name string }

// encodings returns the texts by which a value is found: itself, base64 and hexadecimal. Percent-encoding and escapes of JSON are undone
// while text is compared with these.
func encodings(value string) []string {
	texts := []string{value}
	if strings.Contains(value, " ") { // as in forms
		texts = append(texts, strings.ReplaceAll(value, " ", "+"))
	}
	for shift := range 3 {
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			texts = append(texts, inner64(enc, value, shift))
		}
	}
	lower := hex.EncodeToString([]byte(value))
	texts = append(texts, lower, strings.ToUpper(lower))
	for _, text := range texts {
		if len(text) >= skipped+wrapAt { // a line may end so early in it that the beginning does not tell
			texts = append(texts, text[skipped:])
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// skipped limits how many bytes of a long text may be before the end of a line without the text being found there. It is more than the filter
// looks at, and few enough to say nothing.
const skipped = span + 1

// inner64 returns the characters that depend on the value alone in the base64 encoding of a text that has it at an offset of shift bytes,
// modulo 3.
func inner64(enc *base64.Encoding, value string, shift int) string {
	encoded := enc.EncodeToString([]byte("\x00\x00"[:shift] + value))
	return encoded[(8*shift+5)/6 : 8*(shift+len(value))/6]
}
