package serve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// server serves one environment over one link.
type server struct {
	link     *wire.Link
	local    environment
	commands commands
	uploads  uploads

	operations sync.WaitGroup
	mu         sync.Mutex
	running    int // operations
	lasting    int // of these, the ones that last
}

func newServer(link *wire.Link, local environment) *server {
	return &server{link: link, local: local, uploads: make(uploads, largeUploads)}
}

// accept serves operations until the link ends.
func (s *server) accept(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { s.link.Fail(context.Cause(ctx)) })
	go func() {
		<-s.link.Done()
		cancel()
	}()
	for {
		stream, err := s.link.Accept()
		if err != nil {
			return
		}
		s.operations.Go(func() { s.serve(ctx, stream) })
	}
}

// close ends what runs, and waits for it.
func (s *server) close() error {
	err := s.local.Close() // first: the operations wait for commands
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		s.operations.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		err = errors.Join(err, errors.New("operations are left that the system does not let go"))
	}
	return errors.Join(err, s.link.Close(ctx))
}

// serve serves an operation. Whatever goes wrong with the messages ends the link: a side that does
// not keep to the protocol cannot be relied upon.
func (s *server) serve(ctx context.Context, stream *wire.Stream) {
	defer stream.Close()
	m, err := stream.Receive(nil)
	if err != nil {
		s.broken(err)
		return
	}
	var r wire.Request
	if err := m.Into(wire.TypeRequest, &r); err != nil {
		s.broken(err)
		return
	}
	if err := s.enter(r.Op); err != nil {
		s.broken(stream.Finish(nil, err))
		return
	}
	defer s.leave(r.Op)
	s.broken(s.handle(ctx, stream, &r))
}

// broken ends the link if the other side does not keep to the protocol. Other errors of a stream
// follow from its end.
func (s *server) broken(err error) {
	if errors.Is(err, wire.ErrProtocol) {
		s.link.Fail(err)
	}
}

// enter counts an operation, and refuses one beyond the limits.
func (s *server) enter(op wire.Op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == wire.MaxOperations || op.Lasting() && s.lasting == wire.MaxLasting {
		return wire.ErrBusy
	}
	s.running++
	if op.Lasting() {
		s.lasting++
	}
	return nil
}

func (s *server) leave(op wire.Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if op.Lasting() {
		s.lasting--
	}
}

// handle carries out an operation and answers it. The error is one of the stream.
func (s *server) handle(ctx context.Context, stream *wire.Stream, r *wire.Request) error {
	switch r.Op {
	case wire.OpWrite, wire.OpReplace:
		return s.upload(ctx, stream, r)
	case wire.OpStart:
		return s.start(ctx, stream, r)
	}
	return s.cancelable(ctx, stream, func(op context.Context) error {
		switch r.Op {
		case wire.OpOpen, wire.OpEntry:
			return s.open(op, stream, r)
		case wire.OpLock:
			return s.lock(op, stream, r)
		case wire.OpKill: // the end of the waiting does not end the kill
			return stream.Finish(nil, s.commands.kill(ctx, string(r.ID)))
		}
		answer, failure := s.ask(op, r)
		return stream.Finish(answer, failure)
	})
}

// cancelable calls do with a context that the end of the stream cancels, and closes the stream.
// Nothing follows on it any more.
func (s *server) cancelable(ctx context.Context, stream *wire.Stream, do func(context.Context) error) error {
	op, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := make(chan error, 1)
	go func() { watched <- s.watch(stream, cancel) }()
	err := do(op)
	stream.Close()
	return errors.Join(err, <-watched)
}

// errCanceled is the cause of the end of an operation that the near side does not want any more.
var errCanceled = errors.New("the other side has canceled the operation")

// watch waits for the end of a stream on which nothing more is expected, and cancels the operation.
func (s *server) watch(stream *wire.Stream, cancel context.CancelCauseFunc) error {
	m, err := stream.Receive(nil)
	cancel(errCanceled)
	if err == nil {
		err = fmt.Errorf("a message of type %d that was not expected: %w", m.Type, wire.ErrProtocol)
		s.link.Fail(err)
		return err
	}
	s.broken(err)
	return nil
}

// lock holds a lock until the near side closes the stream.
func (s *server) lock(ctx context.Context, stream *wire.Stream, r *wire.Request) error {
	unlock, err := s.local.Lock(ctx, wire.Strings(r.Names)...)
	if err != nil {
		return stream.Finish(nil, err)
	}
	defer unlock()
	if err := stream.Finish(nil, nil); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
