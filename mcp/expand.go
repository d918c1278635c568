package mcp

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnset says that a variable of the environment is not set.
var ErrUnset = errors.New("it is not set")

// expand replaces ${VAR} and ${VAR:-default} by values of variables. A default is used if the
// variable is not set or empty. Everything else stays as it is.
func expand(text string, getenv func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("it has ${ without a }; write ${NAME} or ${NAME:-default}")
		}
		name, fallback, hasDefault := strings.Cut(inside, ":-")
		if !isVariable(name) {
			return "", wrongVariable(inside)
		}
		value, err := getenv(name)
		if hasDefault && (err == nil && value == "" || errors.Is(err, ErrUnset)) {
			value, err = fallback, nil
		}
		if err != nil {
			return "", &variableError{name, err}
		}
		b.WriteString(value)
		text = after
	}
}

// variableError says why a variable has no value here.
type variableError struct {
	name string
	err  error
}

func (e *variableError) Error() string {
	if errors.Is(e.err, ErrUnset) {
		return fmt.Sprintf("the variable %s is not set; set it, or write ${%s:-default}", e.name, e.name)
	}
	return fmt.Sprintf("the variable %s cannot be used: %v", e.name, e.err)
}

func (e *variableError) Unwrap() error { return e.err }

// wrongVariable returns the error for what stands between the braces. Editors have forms of their
// own.
func wrongVariable(inside string) error {
	if name, ok := strings.CutPrefix(inside, "env:"); ok && isVariable(name) {
		return fmt.Errorf("write ${%s} for ${%s}", name, inside)
	}
	return fmt.Errorf("${%s} is not known here; write ${NAME} or ${NAME:-default} with the name of an environment "+
		"variable", clean(inside, 40))
}

// isVariable reports whether a text is the name of an environment variable.
func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}
