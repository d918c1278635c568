package secret

import (
	"bytes"
	"encoding/json"
)

// JSON returns a JSON value with the secrets in its strings, names and numbers replaced. It stays
// valid JSON; a number that is a secret becomes a string. A value without any is returned as it is.
// A text that is no JSON becomes a string.
func (m *Masker) JSON(data json.RawMessage) json.RawMessage {
	if m == nil || len(data) == 0 {
		return data
	}
	text := m.String(view(data))
	same := len(text) == len(data) && text == view(data)
	if same && bytes.IndexByte(data, '\\') < 0 {
		return data
	}
	if json.Valid(data) {
		if masked := m.literals(data); json.Valid(masked) && m.onlyInEscapes(masked) {
			return masked
		}
	}
	if same {
		return data
	}
	return quote(text)
}

// onlyInEscapes reports whether all that looks like a secret in a JSON value begins in the middle
// of an escape, as with nsecret in "\nsecret": it is none there. Another one is spread over several
// strings.
func (m *Masker) onlyInEscapes(data []byte) bool {
	regions, _ := m.current().scan(view(data), "", true)
	for _, r := range regions {
		before := data[:r.start]
		if (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			return false
		}
	}
	return true
}

// literals returns valid JSON with its strings and numbers masked.
func (m *Masker) literals(data []byte) []byte {
	var out []byte
	for i := 0; i < len(data); {
		end := literalEnd(data, i)
		if end == i {
			out = append(out, data[i])
			i++
			continue
		}
		literal := data[i:end]
		text := string(literal)
		if literal[0] == '"' && json.Unmarshal(literal, &text) != nil {
			return nil
		}
		if masked := m.String(text); masked != text {
			literal = quote(masked)
		}
		out = append(out, literal...)
		i = end
	}
	return out
}

// literalEnd returns the end of the string, number or word that begins at an offset, or the offset
// if none does.
func literalEnd(data []byte, at int) int {
	if data[at] != '"' {
		end := at
		for end < len(data) && (isAlnum(data[end]) || bytes.IndexByte([]byte("+-."), data[end]) >= 0) {
			end++
		}
		return end
	}
	for i := at + 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// quote returns a text as a JSON string.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil { // strings can be encoded
		return []byte(`""`)
	}
	return bytes.TrimSpace(b.Bytes())
}
