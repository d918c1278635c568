package agent

import (
	"bytes"
	"encoding/json"
	"strings"
)

// canonical returns JSON without white space and with sorted members. Other text stays as it is.
func canonical(args string) string {
	if isCanonical(args) {
		return args
	}
	return canonicalized(args)
}

// canonicalized does what canonical does, for any text.
func canonicalized(args string) string {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil || dec.More() {
		return args
	}
	text, err := marshal(value)
	if err != nil {
		return args
	}
	return string(bytes.TrimSpace(text))
}

// isCanonical reports whether a text is an object in the form that canonicalized returns. It recognizes what most calls have: sorted members
// whose values are strings of ASCII, small integers, booleans or null.
func isCanonical(text string) bool {
	rest, ok := strings.CutPrefix(text, "{")
	if !ok {
		return false
	}
	for last := ""; ; {
		quoted, after := cutString(rest)
		name := strings.TrimSuffix(quoted, `"`) // with the quote in front, so that even an empty name is greater than the first last
		if name <= last || strings.Contains(name, `\`) || !strings.HasPrefix(after, ":") {
			return false
		}
		last = name
		rest = cutScalar(after[1:])
		if rest == "}" {
			return true
		}
		if rest, ok = strings.CutPrefix(rest, ","); !ok {
			return false
		}
	}
}

// cutString cuts a string, with its quotes, from the beginning of a text. The string is empty if it may be written in another way.
func cutString(text string) (quoted, rest string) {
	if !strings.HasPrefix(text, `"`) {
		return "", ""
	}
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return text[:i+1], text[i+1:]
		case c < ' ' || c > '~':
			return "", ""
		case c == '\\':
			if i++; i == len(text) || !strings.Contains(`"\nrt`, text[i:i+1]) {
				return "", ""
			}
		}
	}
	return "", ""
}

// cutScalar returns what follows a value, and an empty text if the value may be written in another way.
func cutScalar(text string) (rest string) {
	if strings.HasPrefix(text, `"`) {
		_, rest = cutString(text)
		return rest
	}
	end := strings.IndexAny(text, ",}")
	if end < 0 {
		return ""
	}
	switch value := text[:end]; {
	case value == "true", value == "false", value == "null", value == "0":
	case value == "" || len(value) > 15 || value[0] == '0' || strings.Trim(value, "0123456789") != "":
		return ""
	}
	return text[end:]
}
