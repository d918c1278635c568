package soak

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/tool"
)

// errFault is an error that the soak makes.
var errFault = errors.New("a fault of the soak")

// gremlin decides where the code of a host fails in one life of a trial. Its methods are for
// concurrent use.
type gremlin struct {
	wild    bool
	made    *atomic.Int64 // faults of journals and hooks
	severed atomic.Bool   // the journal cannot be reached any more, as after a crash

	mu   sync.Mutex
	dice *rand.Rand
}

// chance reports true once in n times, on average.
func (g *gremlin) chance(n int) bool {
	if !g.wild {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dice.IntN(n) != 0 {
		return false
	}
	g.made.Add(1)
	return true
}

// fail panics once in n times and returns an error once in n times, on average.
func (g *gremlin) fail(n int) error {
	if g.chance(n) {
		panic("a bug of the soak's host")
	}
	if g.chance(n) {
		return errFault
	}
	return nil
}

// store is a store whose logs fail as the gremlin decides.
type store struct {
	journal.Store
	*gremlin
}

func (s store) Create(ctx context.Context, id string) (journal.Log, error) {
	return s.wrap(s.Store.Create(ctx, id))
}

func (s store) Open(ctx context.Context, id string) (journal.Log, error) {
	return s.wrap(s.Store.Open(ctx, id))
}

func (s store) wrap(l journal.Log, err error) (journal.Log, error) {
	if err != nil {
		return nil, err
	}
	return &log{Log: l, gremlin: s.gremlin}, nil
}

// log is a log that fails. After a sync that failed it stays failed, as journals do.
type log struct {
	journal.Log
	*gremlin
	lost atomic.Bool
}

func (l *log) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if l.severed.Load() || l.lost.Load() {
		return errFault
	}
	if err := l.fail(2000); err != nil {
		return err
	}
	return l.Log.Append(ctx, next, records...)
}

func (l *log) Sync(ctx context.Context) error {
	if l.severed.Load() || l.lost.Load() || l.chance(1000) {
		l.lost.Store(true)
		return errFault
	}
	return l.Log.Sync(ctx)
}

func (l *log) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	if l.severed.Load() || l.lost.Load() || l.chance(100) {
		return "", errFault
	}
	return l.Log.PutBlob(ctx, data)
}

// addFaults makes the hooks of a session fail as the gremlin decides.
func (g *gremlin) addFaults(o *agent.Options) {
	authorize := o.Authorize
	if authorize == nil {
		authorize = tool.AllowUnguarded
	}
	o.Authorize = func(ctx context.Context, req tool.Request) (tool.Decision, error) {
		if err := g.fail(200); err != nil {
			return tool.Decision{}, err
		}
		return authorize(ctx, req)
	}
	o.Middleware = append(o.Middleware, func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			if g.chance(300) {
				return tool.Result{}, tool.ErrNotBegun
			}
			if err := g.fail(200); err != nil {
				return tool.Result{}, err
			}
			return next(ctx, call)
		}
	})
	o.BeforeStop = func(context.Context, agent.Stop) (string, error) {
		if g.chance(20) {
			return "Look again.", nil
		}
		return "", g.fail(100)
	}
	o.BeforeInput = func(_ context.Context, m agent.Message) (agent.Message, error) { return m, g.fail(100) }
	o.BeforeCompact = func(context.Context, agent.Compacting) (string, error) { return "", g.fail(10) }
}
