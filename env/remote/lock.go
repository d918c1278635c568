package remote

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// unlockTime limits how long unlock waits until the lock is free.
const unlockTime = time.Second

// Lock implements env.Locker: all sessions on the machine over there share the locks. A lock ends
// with the connection.
func (e *Env) Lock(ctx context.Context, names ...string) (unlock func(), err error) {
	c, err := e.connect(ctx)
	if err != nil {
		return nil, pathError("lock", strings.Join(names, ", "), err)
	}
	o, err := converse(ctx, c, wire.Request{Op: wire.OpLock, Names: wire.Texts(names)}, func(o *operation) (*operation,
		error) {
		err := o.Answer(nil)
		if err != nil {
			o.Close()
		}
		return o, err
	})
	if err != nil {
		return nil, pathError("lock", strings.Join(names, ", "), err)
	}
	return sync.OnceFunc(func() { release(o) }), nil
}

// release ends a lock, and waits until it is free, so that another session that waits for it comes
// first.
func release(o *operation) {
	late := time.AfterFunc(unlockTime, o.Cancel)
	defer late.Stop()
	o.Close()
	_, _ = o.Receive(nil) // the end of the stream
}
