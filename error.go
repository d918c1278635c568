package attractor

import (
	"errors"

	"github.com/attractor-go/attractor/internal/fault"
)

// The kinds of errors. A program tells its user what to do about each.
var (
	// ErrConfig says that a setting names something that does not exist, or contradicts another
	// setting.
	ErrConfig = fault.ErrConfig
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
	// ErrServer says that a required MCP server cannot be used.
	ErrServer = errors.New("no MCP server")
	// ErrUnreachable says that the machine on which the session works cannot be reached.
	ErrUnreachable = errors.New("no environment")
	// ErrRefused says that something which a command runs is not permitted.
	ErrRefused = errors.New("not permitted")
	// ErrJournal says that the session's journal cannot be opened.
	ErrJournal = errors.New("no journal")
)

// Error is an error with a kind: its field Kind holds one of the errors above, and its field Err
// the error that has the text. errors.Is finds both the kind and what Err wraps.
type Error = fault.Error

// fail returns an error of a kind.
func fail(kind error, format string, args ...any) error { return fault.Errorf(kind, format, args...) }
