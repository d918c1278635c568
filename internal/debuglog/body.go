package debuglog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The limits of what a line has of a request or a response, in bytes.
const (
	maxBody   = 8 << 20
	maxHeader = 2 << 10
	maxAttr   = 4 << 10   // of an attribute
	maxText   = 256 << 10 // of a string in a body
	maxData   = 1 << 10   // of a string that is base64, as an image is
)

// body returns a body without secrets: a JSON value, or a text if the body is not JSON. Long strings in it are shortened.
func (t *transport) body(data []byte, cut bool) any {
	if len(data) == 0 {
		return nil
	}
	if !cut && json.Valid(data) {
		return shorten(t.masker.JSON(data))
	}
	if !cut {
		return shortText(t.masker.String(string(data)), maxText)
	}
	return t.masker.Stream().Next(string(data[:min(len(data), maxText)])) + fmt.Sprintf(" [cut: more than %d MiB]", maxBody>>20) // Next leaves out the beginning of a secret
}

// shorten returns a JSON value whose long strings are shortened, each with its size.
func shorten(data json.RawMessage) json.RawMessage {
	if len(data) <= maxData {
		return data
	}
	var out []byte
	for len(data) > 0 {
		at := bytes.IndexByte(data, '"')
		if at < 0 {
			break
		}
		end := at + stringEnd(data[at:])
		literal := data[at:end]
		out = append(out, data[:at]...)
		out = append(out, shortLiteral(literal)...)
		data = data[end:]
	}
	if out == nil {
		return data
	}
	return append(out, data...)
}

// stringEnd returns the length of the string with which valid JSON begins.
func stringEnd(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// shortLiteral returns a string of JSON, shortened if it is long.
func shortLiteral(literal []byte) []byte {
	if len(literal) <= maxData || len(literal) <= maxText && !isBase64(literal[1:len(literal)-1]) {
		return literal
	}
	var text string
	if json.Unmarshal(literal, &text) != nil { // cannot happen: it is valid
		return []byte(`""`)
	}
	most := maxText
	if isBase64(literal[1 : len(literal)-1]) {
		most = 64
	}
	short, err := json.Marshal(shortText(text, most))
	if err != nil { // cannot happen: it is a string
		return []byte(`""`)
	}
	return short
}

// isBase64 reports whether a string is base64, perhaps as a data URL.
func isBase64(text []byte) bool {
	const mark = ";base64,"
	if at := bytes.Index(text[:min(len(text), 200)], []byte(mark)); at >= 0 {
		text = text[at+len(mark):]
	}
	for _, c := range text {
		if (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' && c != '=' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// shortText returns the beginning of a text that is longer than most bytes, with its size.
func shortText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf(" [... %d bytes in all]", len(text))
}
