package debuglog

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of what a line has of a request or a response, in bytes.
const (
	maxBody   = 8 << 20
	maxHeader = 2 << 10
	maxAttr   = 4 << 10   // of an attribute
	maxText   = 256 << 10 // of a string in a body
	maxData   = 1 << 10   // of a string that is base64, as an image is
)

// body returns a body without secrets: a JSON value, or a text if the body is not JSON. Long
// strings in it are shortened.
func (t *transport) body(data []byte, cut bool) any {
	if len(data) == 0 {
		return nil
	}
	if !cut && json.Valid(data) {
		return t.json(data)
	}
	if !cut {
		return shortText(t.masker.String(string(data)), maxText)
	}
	return t.masker.Stream().Next(string(data[:min(len(data), maxText)])) + fmt.Sprintf(" [cut: more than %d MiB]",
		maxBody>>20) // Next leaves out the beginning of a secret
}

// json returns a JSON value without secrets, whose long strings are shortened, each with its size.
func (t *transport) json(data []byte) any {
	masked := t.masker.JSON(data)
	if len(masked) <= maxData {
		return masked
	}
	tree := decode(string(masked))
	walk(tree, "", func(_, text string, set func(string)) {
		if len(text) > maxData && isBase64(text) {
			set(shortText(text, 64))
		} else {
			set(shortText(text, maxText))
		}
	})
	return tree
}

// isBase64 reports whether a string is base64, perhaps as a data URL.
func isBase64(text string) bool {
	const mark = ";base64,"
	if at := strings.Index(text[:min(len(text), 200)], mark); at >= 0 {
		text = text[at+len(mark):]
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("+/=-_", r)
	})
}

// shortText returns the beginning of a text that is longer than most bytes, with its size.
func shortText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf(" [... %d bytes in all]", len(text))
}
