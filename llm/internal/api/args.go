package api

import (
	"encoding/json"
	"strings"
)

// AppendArgs writes a call's arguments as the model wrote them, for APIs that take an object and nothing else: what is none (a
// broken call, a free-form tool of another provider) goes into one as text.
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
