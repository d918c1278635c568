package texts

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// JSONError returns an error of encoding/json in the words of JSON, without those of Go. It calls
// the whole value what, such as "the body".
func JSONError(what string, err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("%s: %s", what, strings.TrimPrefix(err.Error(), "json: "))
	}
	if wrong.Field != "" {
		what = wrong.Field
	}
	return fmt.Errorf("%s must be %s, not a JSON %s", what, JSONType(wrong.Type), wrong.Value)
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
