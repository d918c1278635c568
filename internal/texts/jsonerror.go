package texts

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSONError returns an error of encoding/json in the words of JSON, without those of Go. It calls
// the whole value what, such as "the body".
func JSONError(what string, err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s must be %s, not a JSON %s", cmp.Or(wrong.Field, what), JSONType(wrong.Type), wrong.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("%s is not JSON: %w", what, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s ends too early", what)
	}
	return fmt.Errorf("%s: %s", what, strings.TrimPrefix(err.Error(), "json: "))
}

// JSONType says what JSON a type is read from.
func JSONType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}
