package remote

import (
	"fmt"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// Options describe the environment that the far side opens. They are sent to it.
type Options struct {
	// Dir is the working directory over there. Empty means the one in which the helper was started.
	Dir string `json:"dir,omitempty"`
	// Roots, ReadOnly, Grace, Limits, Containment and AnyNames mean what they mean in
	// [env.LocalOptions]. Names are those of the far side.
	Roots       []string      `json:"roots,omitempty"`
	ReadOnly    []string      `json:"read_only,omitempty"`
	Grace       time.Duration `json:"grace,omitempty"`
	Limits      env.Limits    `json:"limits,omitzero"`
	Containment string        `json:"containment,omitempty"`
	AnyNames    bool          `json:"any_names,omitempty"`
	// Silence is how long a side may hear nothing of the other before it takes the stream for lost:
	// one minute unless set.
	Silence time.Duration `json:"silence,omitempty"`
}

// wire returns the options as they are sent.
func (o Options) wire() wire.Options {
	return wire.Options{Dir: wire.Text(o.Dir), Roots: wire.Texts(o.Roots), ReadOnly: wire.Texts(o.ReadOnly),
		Grace: o.Grace, Limits: o.Limits, Containment: o.Containment, Silence: o.Silence, AnyNames: o.AnyNames}
}

// VersionError reports that the two sides have no version of the protocol in common.
type VersionError struct {
	Oldest, Newest       int // of this program
	FarOldest, FarNewest int // of the helper
}

// Error names the side that has to be replaced.
func (e *VersionError) Error() string {
	old := "the helper is too old: replace it"
	if e.FarOldest > e.Newest {
		old = "this program is too old for it: replace this program"
	}
	return fmt.Sprintf("the helper speaks versions %d to %d of the protocol, this program %d to %d; %s", e.FarOldest,
		e.FarNewest, e.Oldest, e.Newest, old)
}
