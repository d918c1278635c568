package openai

import (
	"context"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// liveEnv passes the output of its commands to a call's Live until stop.
type liveEnv struct {
	env.Environment

	mu   sync.Mutex
	live func(stream int, p []byte) // nil if nobody watches, and after stop
}

// Start implements [env.Environment].
func (l *liveEnv) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	keep := cmd.Output
	cmd.Output = func(stream int, p []byte) {
		keep(stream, p)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.live != nil {
			l.live(stream, p)
		}
	}
	return l.Environment.Start(ctx, cmd)
}

// stop ends the showing of output. When it returns, nothing is being shown any more.
func (l *liveEnv) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = nil
}
