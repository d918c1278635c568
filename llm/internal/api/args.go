package api

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
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

// escape matches an escape sequence of JSON, both halves of a surrogate pair as one.
var escape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)`)
})

// pairSurrogates returns a valid JSON text in which each escape of half a surrogate pair is one of
// U+FFFD. Models write such halves, and servers refuse every request that has one.
func pairSurrogates(text string) string {
	if !strings.Contains(text, `\ud`) && !strings.Contains(text, `\uD`) {
		return text
	}
	return escape().ReplaceAllStringFunc(text, func(sequence string) string {
		if half := strings.ToLower(sequence); len(half) == len(`\ud83d`) && half >= `\ud800` && half <= `\udfff` {
			return `\ufffd`
		}
		return sequence
	})
}
