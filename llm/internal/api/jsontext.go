package api

import (
	"bytes"
	"encoding/json"
)

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD. Characters of HTML are not
// escaped.
func AppendString(dst []byte, s string) []byte {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)            // a string can always be encoded
	return b.Bytes()[:b.Len()-1] // without the line feed
}

// AppendMember appends before, which is JSON up to a member's value, and s as that value.
func AppendMember(dst []byte, before, s string) []byte {
	return AppendString(append(dst, before...), s)
}
