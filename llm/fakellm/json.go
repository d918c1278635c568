package fakellm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// object is a JSON object that this package makes.
type object = map[string]any

// encode returns the JSON of a value made by this package. Only a script's arguments could be
// invalid JSON, and they are checked before.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fakellm: " + err.Error())
	}
	return string(b)
}

// strict decodes a value that may not have unknown members.
func strict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// unknown returns the name of the unknown member that a strict decoding failed on, or "".
func unknown(err error) string {
	field, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return ""
	}
	return strings.Trim(field, `"`)
}

// into decodes the body. It refuses an unknown member and a broken body in the vendor's words.
func (r *Request) into(v any, unknownMember, broken string) *refusal {
	err := strict(r.Body, v)
	if err == nil {
		return nil
	}
	if member := unknown(err); member != "" {
		return invalid(unknownMember, member)
	}
	return invalid(broken, err)
}

// listOf decodes a list, which a string may stand for.
func listOf[T any](b []byte, one func(text string) T) (list []T, err error) {
	var text string
	if json.Unmarshal(b, &text) == nil {
		return []T{one(text)}, nil
	}
	err = strict(b, &list)
	return list, err
}

// isSchema reports whether a text is the schema of an object.
func isSchema(raw json.RawMessage) bool {
	var schema struct{ Type string }
	return json.Unmarshal(raw, &schema) == nil && schema.Type == "object"
}

// isObject reports whether a text is a JSON object.
func isObject(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(raw, &members) == nil && members != nil
}

// isBase64 reports whether a text is standard base64.
func isBase64(text string) bool {
	_, err := base64.StdEncoding.DecodeString(text)
	return err == nil
}

// decoded returns the data of a base64 text, which check has validated.
func decoded(text string) []byte {
	data, _ := base64.StdEncoding.DecodeString(text)
	return data
}

// deref returns the text that s points to, "" for nil.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
