package host

import (
	"errors"
	"fmt"
)

// The kinds of errors. A program tells its user what to do about each.
var (
	// ErrConfig says that a setting names something that does not exist, or contradicts another setting.
	ErrConfig = errors.New("the configuration cannot work")
	// ErrNoKey says that the environment has no key.
	ErrNoKey = errors.New("no API key")
	// ErrFallback says that a fallback cannot be used.
	ErrFallback = errors.New("no fallback")
	// ErrNoServer says that the URL of the provider's server is missing.
	ErrNoServer = errors.New("no server")
	// ErrNoProvider says that a provider has to be named.
	ErrNoProvider = errors.New("no provider")
	// ErrNoModel says that a model has to be named.
	ErrNoModel = errors.New("no model")
	// ErrNoSession says that no session, or more than one, has the id.
	ErrNoSession = errors.New("no such session")
	// ErrNoStore says that there is no place to keep sessions in.
	ErrNoStore = errors.New("no store of sessions")
	// ErrServer says that a required MCP server cannot be used.
	ErrServer = errors.New("no MCP server")
	// ErrUnreachable says that the machine on which the session works cannot be reached.
	ErrUnreachable = errors.New("no environment")
	// ErrRefused says that something which a command runs is not permitted.
	ErrRefused = errors.New("not permitted")
	// ErrNothing says that a session has changed nothing that could be taken back.
	ErrNothing = errors.New("nothing to take back")
	// ErrJournal says that the session's journal cannot be opened.
	ErrJournal = errors.New("no journal")
)

// Error is an error with a kind. errors.Is finds both the kind and what Err wraps.
type Error struct {
	Kind error
	Err  error
}

// Error implements error. It returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the kind and the error.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

// fail returns an error of a kind.
func fail(kind error, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...)}
}
