package fault

import (
	"errors"
	"fmt"
)

// ErrConfig says that a setting names something that does not exist, or contradicts another
// setting.
var ErrConfig = errors.New("the configuration cannot work")

// Error is an error with a kind. errors.Is finds both the kind and what Err wraps.
type Error struct {
	Kind error
	Err  error
}

// Error implements error. It returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the kind and the error.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// Errorf returns an error of a kind, with the text that fmt.Errorf makes.
func Errorf(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
