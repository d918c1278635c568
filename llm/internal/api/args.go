package api

import (
	"encoding/json"
	"strings"
)

// AppendArgs appends a call's arguments as the model wrote them, for APIs that accept only an
// object. Anything else, such as the arguments of a broken call or of another provider's free-form
// tool, becomes a text in an object.
func AppendArgs(b []byte, args string) []byte {
	trimmed := strings.TrimSpace(args)
	switch {
	case trimmed == "":
		return append(b, `{}`...)
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return append(b, strings.ToValidUTF8(trimmed, "\uFFFD")...)
	}
	b = append(b, `{"_raw":`...)
	return append(AppendString(b, args), '}')
}
