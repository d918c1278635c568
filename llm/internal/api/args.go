package api

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendArgs appends a call's arguments as the model wrote them, for APIs that accept only an
// object. Anything else, such as the arguments of a broken call or of another provider's free-form
// tool, becomes a text in an object.
func AppendArgs(b []byte, args string) []byte {
	object := strings.TrimSpace(args)
	if object == "" {
		return append(b, `{}`...)
	}
	var encoded string
	if json.Unmarshal([]byte(object), &encoded) == nil { // some servers encode an object once more
		object = strings.TrimSpace(encoded)
	}
	if strings.HasPrefix(object, "{") && json.Valid([]byte(object)) {
		return append(b, pairSurrogates(strings.ToValidUTF8(object, "\uFFFD"))...)
	}
	b = append(b, `{"_raw":`...)
	return append(AppendString(b, args), '}')
}

// pairSurrogates returns a valid JSON text in which each escape of half a surrogate pair is one of
// U+FFFD. Models write such halves, and servers refuse every request that has one.
func pairSurrogates(text string) string {
	var b strings.Builder
	kept := 0 // how much of text b has
	for at := 0; at < len(text); {
		switch {
		case text[at] != '\\':
			at++
		case !utf16.IsSurrogate(unescaped(text[at:])):
			at += len(`\n`) // the digits of \u are ordinary characters
		case utf16.DecodeRune(unescaped(text[at:]), unescaped(text[at+len(`\ud83d`):])) != utf8.RuneError:
			at += len(`\ud83d\ude00`)
		default:
			b.WriteString(text[kept:at] + `\ufffd`)
			at += len(`\ud83d`)
			kept = at
		}
	}
	b.WriteString(text[kept:])
	return b.String()
}

// unescaped returns the UTF-16 code unit whose \u escape a text begins with, or -1.
func unescaped(text string) rune {
	if len(text) < len(`\ud83d`) || text[:len(`\u`)] != `\u` {
		return -1
	}
	unit, err := strconv.ParseUint(text[len(`\u`):len(`\ud83d`)], 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
