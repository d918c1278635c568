package openai

import (
	"context"
	"sync"

	"github.com/attractor-go/attractor/env"
)

// liveEnv shows what the commands that are started in it print to whoever watches a call, for as long as the call lasts.
type liveEnv struct {
	env.Environment

	mu   sync.Mutex
	live func(stream int, p []byte) // nil when nobody watches, or no more
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

// stop returns when nothing is being shown, and nothing will be.
func (l *liveEnv) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live = nil
}
