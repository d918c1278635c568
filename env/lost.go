package env

import (
	"errors"
	"fmt"
)

// ErrLost is wrapped by the errors of an environment on another machine when its connection has
// broken. What was under way there has ended, with or without an effect: a file may have been
// written, a command may have run.
var ErrLost = errors.New("the connection to the environment was lost")

// ErrLostBefore wraps [ErrLost]. It is wrapped by the errors of operations that were begun when the
// connection had broken: they had no effect.
var ErrLostBefore = fmt.Errorf("%w before this", ErrLost)
