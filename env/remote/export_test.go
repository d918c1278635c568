package remote

import (
	"context"
	"io"
	"time"
)

// SetRedial sets how an environment connects again.
func (e *Env) SetRedial(redial func(ctx context.Context) (io.ReadWriteCloser, error)) {
	e.redial = redial
}

// SetEnd sets how long the answer to the end of something is waited for.
func (e *Env) SetEnd(end time.Duration) { e.current.end = end }
