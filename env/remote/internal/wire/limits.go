package wire

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// The versions of the protocol that this program speaks.
const (
	OldestVersion = 1
	NewestVersion = 1
)

// Magic begins the greeting.
const Magic = "attractor-env"

// The limits of the protocol. Each side holds to them and refuses what is beyond them.
const (
	MaxData       = 64 << 10  // bytes of one message of data or of a part of an answer
	MaxRequest    = 1 << 20   // bytes of a request
	MaxAnswer     = 32 << 20  // bytes of a whole answer, such as a listing
	MaxEntries    = 300_000   // elements of a list in an answer
	MaxNested     = 1_500_000 // elements of all lists in such a list
	MaxFile       = 256 << 20 // bytes of a file that is written at once
	MaxOperations = 512       // at a time
	MaxLasting    = 384       // of these, the ones that last: commands, open files and locks
	MaxLines      = 250_000   // lines or files that a search without a limit of its own may find
)

// DefaultSilence is how long a side hears nothing before it takes the connection for lost.
const DefaultSilence = time.Minute

// GreetingTime limits how long the greeting may take.
const GreetingTime = 30 * time.Second

// ErrTooLarge is wrapped by the errors for what is beyond a limit of the protocol. It wraps
// fs.ErrInvalid.
var ErrTooLarge = fmt.Errorf("too large for the connection to this environment: %w", fs.ErrInvalid)

// ErrBusy is wrapped by the errors for an operation beyond the number of those that may run at a
// time.
var ErrBusy = errors.New("too many operations in this environment at a time; try again when others have ended")
