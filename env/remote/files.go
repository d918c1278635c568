package remote

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// question asks one question about a file.
func question[T any](ctx context.Context, e *Env, op string, r wire.Request) (v T, err error) {
	c, err := e.connect(ctx)
	if err == nil {
		v, err = ask[T](ctx, c, r)
	}
	return v, pathError(op, string(r.Name), err)
}

// change asks for a change of a file.
func (e *Env) change(ctx context.Context, op string, r wire.Request) error {
	c, err := e.connect(ctx)
	if err == nil {
		err = tell(ctx, c, r)
	}
	return pathError(op, string(r.Name), err)
}

// Stat implements env.Environment.
func (e *Env) Stat(ctx context.Context, name string) (env.Info, error) {
	n, err := question[wire.Node](ctx, e, "stat", wire.Request{Op: wire.OpStat, Name: wire.Text(name)})
	if err != nil {
		return env.Info{}, err
	}
	return n.Info(), nil
}

// Lstat implements env.Tree.
func (e *Env) Lstat(ctx context.Context, name string) (env.Node, error) {
	n, err := question[wire.Node](ctx, e, "lstat", wire.Request{Op: wire.OpLstat, Name: wire.Text(name)})
	if err != nil {
		return env.Node{}, err
	}
	return n.Node(), nil
}

// ReadDir implements env.Environment.
func (e *Env) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	list, err := question[wire.List[wire.Node]](ctx, e, "readdir",
		wire.Request{Op: wire.OpReadDir, Name: wire.Text(name)})
	if err != nil {
		return nil, err
	}
	infos := make([]env.Info, len(list))
	for i, n := range list {
		infos[i] = n.Info()
	}
	return infos, nil
}

// Readlink implements env.Tree.
func (e *Env) Readlink(ctx context.Context, name string) (string, error) {
	target, err := question[wire.Text](ctx, e, "readlink", wire.Request{Op: wire.OpReadlink, Name: wire.Text(name)})
	return string(target), err
}

// Resolve implements env.Resolver.
func (e *Env) Resolve(ctx context.Context, name string) (string, error) {
	to, err := question[wire.Text](ctx, e, "resolve", wire.Request{Op: wire.OpResolve, Name: wire.Text(name)})
	return string(to), err
}

// Remove implements env.Environment.
func (e *Env) Remove(ctx context.Context, name string) error {
	return e.change(ctx, "remove", wire.Request{Op: wire.OpRemove, Name: wire.Text(name)})
}

// Delete implements env.Replacer. Comparing and removing is one step for all sessions on the
// machine over there.
func (e *Env) Delete(ctx context.Context, name string, was env.Hash) error {
	return e.change(ctx, "delete", wire.Request{Op: wire.OpDelete, Name: wire.Text(name), Was: was})
}

// Symlink implements env.Tree.
func (e *Env) Symlink(ctx context.Context, target, name string) error {
	return e.change(ctx, "symlink", wire.Request{Op: wire.OpSymlink, Name: wire.Text(name), Target: wire.Text(target)})
}

// Mkdir implements env.Tree.
func (e *Env) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return e.change(ctx, "mkdir", wire.Request{Op: wire.OpMkdir, Name: wire.Text(name), Perm: perm})
}

// Chmod implements env.Tree.
func (e *Env) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return e.change(ctx, "chmod", wire.Request{Op: wire.OpChmod, Name: wire.Text(name), Perm: perm})
}

// WriteFile implements env.Environment. The file over there changes only when all data has arrived.
// It has at most 256 MiB.
func (e *Env) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return e.upload(ctx, "write", data, wire.Request{Op: wire.OpWrite, Name: wire.Text(name), Perm: perm})
}

// Replace implements env.Replacer, with the limit of WriteFile. Comparing and replacing is one step
// for all sessions on the machine over there.
func (e *Env) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	return e.upload(ctx, "replace", data, wire.Request{Op: wire.OpReplace, Name: wire.Text(name), Perm: perm, Was: was})
}

// upload sends data with a request.
func (e *Env) upload(ctx context.Context, op string, data []byte, r wire.Request) error {
	if r.Size = int64(len(data)); r.Size > wire.MaxFile {
		return pathError(op, string(r.Name), fmt.Errorf("%d bytes, and %d are the most: %w", len(data), wire.MaxFile,
			wire.ErrTooLarge))
	}
	c, err := e.connect(ctx)
	if err != nil {
		return pathError(op, string(r.Name), err)
	}
	own := bytes.Clone(data) // if ctx ends, sending may go on for a while
	_, err = converse(ctx, c, r, func(o *operation) (struct{}, error) {
		defer o.Close()
		return struct{}{}, send(o, own)
	})
	return pathError(op, string(r.Name), err)
}

// send sends data, and returns the outcome. The far side may refuse the data before it has all of
// it.
func send(o *operation, data []byte) error {
	go func() { // ends with the stream
		for more := true; more; {
			part := data[:min(len(data), wire.MaxData)]
			data = data[len(part):]
			messages := []wire.Message{{Type: wire.TypeData, Payload: part}}
			if more = len(data) > 0; !more {
				messages = append(messages, wire.Message{Type: wire.TypeEnd})
			}
			if o.Send(messages...) != nil { // the error is in the answer too
				return
			}
		}
	}()
	return o.Answer(nil)
}

// Open implements env.Environment. A connection that breaks while the file is read is an error, not
// the file's end.
func (e *Env) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return e.open(ctx, wire.Request{Op: wire.OpOpen, Name: wire.Text(name)}, name)
}

// open opens a file of the given name.
func (e *Env) open(ctx context.Context, r wire.Request, name string) (io.ReadCloser, error) {
	c, err := e.connect(ctx)
	if err != nil {
		return nil, pathError("open", name, err)
	}
	f, err := converse(ctx, c, r, func(o *operation) (*file, error) {
		m, err := o.Receive(nil)
		if err == nil && m.Type != wire.TypeStarted {
			err = failure(m)
		}
		if err != nil {
			o.Close()
			return nil, err
		}
		return &file{conn: c, o: o, name: name}, nil
	})
	if err != nil {
		return nil, pathError("open", name, err)
	}
	return f, nil
}

// failure returns the error with which an operation has ended before it could begin.
func failure(m wire.Message) error {
	f, err := m.Failure()
	if err == nil && f == nil {
		err = &wire.Broken{Err: fmt.Errorf("an end without a beginning: %w", wire.ErrProtocol)}
	}
	return cmp.Or(err, f)
}

// file reads a file over there.
type file struct {
	conn   *conn
	o      *operation
	name   string
	closed atomic.Bool

	buf  []byte
	rest []byte // of the last message
	err  error  // how it has ended
}

// Read waits for the connection, at most for the time of silence.
func (f *file) Read(p []byte) (int, error) {
	for len(f.rest) == 0 && f.err == nil && len(p) > 0 {
		f.receive()
	}
	if f.closed.Load() {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fs.ErrClosed}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, f.err
}

// receive receives the next part, or the end.
func (f *file) receive() {
	if f.buf == nil {
		f.buf = make([]byte, wire.MaxData)
	}
	m, err := f.o.Receive(f.buf)
	if f.closed.Load() {
		f.err = fs.ErrClosed
		return
	}
	switch {
	case err == nil && m.Type == wire.TypeData:
		f.rest = m.Payload
	case err == nil:
		if f.err, err = m.Failure(); err == nil {
			f.err = pathError("read", f.name, f.err)
		}
		f.o.Close()
		if err == nil && f.err == nil {
			f.err = io.EOF
		}
	}
	if err != nil {
		f.err = pathError("read", f.name, f.conn.explain(err))
	}
}

// Close ends the reading over there. It may be called while a Read waits.
func (f *file) Close() error {
	if f.closed.Swap(true) {
		return &fs.PathError{Op: "close", Path: f.name, Err: fs.ErrClosed}
	}
	f.o.Cancel()
	return nil
}
