package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// open sends the content of a file.
func (s *server) open(ctx context.Context, stream *wire.Stream, r *wire.Request) (err error) {
	f, err := s.openFile(ctx, r)
	if err != nil {
		return stream.Finish(nil, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := stream.Send(wire.Message{Type: wire.TypeStarted}); err != nil {
		return err
	}
	buf := make([]byte, wire.MaxData)
	for {
		n, err := f.Read(buf)
		if n > 0 {
			if err := stream.Send(wire.Message{Type: wire.TypeData, Payload: buf[:n]}); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return stream.Finish(nil, nil)
		}
		if err != nil {
			return stream.Finish(nil, err)
		}
	}
}

func (s *server) openFile(ctx context.Context, r *wire.Request) (f io.ReadCloser, err error) {
	if r.Op == wire.OpOpen {
		return s.local.Open(ctx, string(r.Name))
	}
	return inDir(ctx, s, r, func(d env.Dir) (io.ReadCloser, error) { return d.Open(ctx, string(r.Entry)) })
}

// inDir calls do with a directory that is open.
func inDir[T any](ctx context.Context, s *server, r *wire.Request, do func(env.Dir) (T, error)) (v T, err error) {
	d, err := env.OpenDir(ctx, s.local, string(r.Name))
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return do(d)
}

// list describes the entries of a directory. It leaves out those that vanish meanwhile.
func (s *server) list(ctx context.Context, r *wire.Request) (any, error) {
	return inDir(ctx, s, r, func(d env.Dir) (any, error) {
		entries, err := d.List(ctx)
		if err != nil {
			return nil, err
		}
		nodes := make(wire.List[wire.Node], 0, len(entries))
		for _, e := range entries {
			n, err := d.Lstat(ctx, e.Name)
			if err == nil {
				nodes = append(nodes, wire.NodeOf(n))
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		return nodes, nil
	})
}

// upload receives a file as a whole and then writes it.
func (s *server) upload(ctx context.Context, stream *wire.Stream, r *wire.Request) error {
	if r.Size < 0 || r.Size > wire.MaxFile {
		return stream.Finish(nil, fmt.Errorf("a file of %d bytes, and %d are the most: %w", r.Size, wire.MaxFile,
			wire.ErrTooLarge))
	}
	release, err := s.uploads.take(ctx, r.Size)
	if err != nil {
		return stream.Finish(nil, err)
	}
	defer release()
	data, err := receive(stream, r.Size)
	if err != nil {
		return err
	}
	return s.cancelable(ctx, stream, func(op context.Context) error {
		if r.Op == wire.OpWrite {
			return stream.Finish(nil, s.local.WriteFile(op, string(r.Name), data, r.Perm))
		}
		return stream.Finish(nil, s.local.Replace(op, string(r.Name), r.Was, data, r.Perm))
	})
}

// receive receives as many bytes as were announced.
func receive(stream *wire.Stream, size int64) ([]byte, error) {
	var data bytes.Buffer
	buf := make([]byte, wire.MaxData)
	for {
		m, err := stream.Receive(buf)
		if err != nil {
			return nil, err
		}
		switch {
		case m.Type == wire.TypeData && int64(data.Len()+len(m.Payload)) <= size:
			data.Write(m.Payload)
		case m.Type == wire.TypeEnd && int64(data.Len()) == size:
			return data.Bytes(), nil
		default:
			return nil, fmt.Errorf("a message of type %d after %d bytes of a file of %d: %w", m.Type, data.Len(), size,
				wire.ErrProtocol)
		}
	}
}

// uploads limits the memory of the files that are received at a time: of those that are larger than
// smallUpload it has a place for each.
type uploads chan struct{}

const (
	smallUpload  = 64 << 10
	largeUploads = 2 // at a time
)

// take waits until there is room for a file.
func (u uploads) take(ctx context.Context, size int64) (release func(), err error) {
	if size <= smallUpload {
		return func() {}, nil
	}
	select {
	case u <- struct{}{}:
		return func() { <-u }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
