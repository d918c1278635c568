package texts_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/texts"
)

// An error names the line and says what is wrong. JSON that is not accepted is not called something
// else.
func TestN8_WhatIsWrongWithJSON(t *testing.T) {
	const found, comma = "line 2: it is not JSON: invalid character ", "; if a comma stands before it, remove that"
	for text, want := range map[string]string{
		"{\n\"a\": x}":                        "line 2: it is not JSON: ",
		"{\n// why\n\"a\": 1}":                "JSON has no comments: remove them",
		"{\"a\": 1,\n}":                       found + "'}' looking for beginning of object key string" + comma,
		"[1,\n]":                              found + "']' looking for beginning of value" + comma,
		"{\n\"a\": [1,":                       "line 2: the file ends too early",
		"{}\n\n{}":                            "line 3: there is something after the end of the JSON value; remove it",
		"{\n\"a\":" + strings.Repeat("[", 40): "line 2: there are more than 32 objects or arrays inside each other",
	} {
		if _, err := texts.ReadJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Count(err.Error(), "it is not JSON") != strings.Count(want, "it is not JSON") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
