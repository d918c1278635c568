package acp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxMessage limits the bytes of a message.
const maxMessage = 32 << 20

// headOf returns the id in the beginning of a message, or null if it is not there, and reports
// whether the message is a response.
func headOf(beginning []byte) (id json.RawMessage, isResponse bool) {
	id = null
	dec := json.NewDecoder(bytes.NewReader(beginning))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return id, false
	}
	for {
		name, err := dec.Token()
		if name == "result" || name == "error" {
			isResponse = true
		}
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return id, isResponse
		}
		if name == "id" && validID(value) {
			id = value
		}
	}
}

// validID reports whether a JSON value can be the id of a request.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && len(id) <= 1<<10 && id[0] != '{' && id[0] != '[' && id[0] != 't' && id[0] != 'f' &&
		utf8.Valid(id)
}
