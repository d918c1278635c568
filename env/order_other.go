//go:build unix && !linux

package env

import (
	"errors"
	"os"
	"sync"
	"time"
)

// order reads each pipe in its own goroutine. Writes to both streams within the microseconds that a
// goroutine takes to wake up may swap places, unlike on Linux.
type order struct{ pipes []*pipe }

func newOrder(pipes []*pipe) (*order, error) { return &order{pipes}, nil }

// read delivers output until all pipes have ended or stop is called.
func (r *order) read(o *output) {
	var readers sync.WaitGroup
	for _, p := range r.pipes {
		readers.Go(func() {
			buf := make([]byte, readSize)
			for {
				n, err := p.f.Read(buf)
				o.emit(p.stream, buf[:n])
				if errors.Is(err, os.ErrDeadlineExceeded) {
					return
				}
				if err != nil {
					o.endStream(p, err)
					return
				}
			}
		})
	}
	readers.Wait()
}

// stop makes read return. It closes pipes that do not support deadlines, since nothing else stops a
// reader.
func (r *order) stop() error {
	var errs []error
	for _, p := range r.pipes {
		err := p.f.SetReadDeadline(time.Unix(1, 0))
		if err != nil && !errors.Is(err, os.ErrClosed) {
			errs = append(errs, err, p.f.Close())
		}
	}
	return errors.Join(errs...)
}

// close does nothing.
func (r *order) close() error { return nil }
