package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// endTime limits how long Serve waits at its end for operations that the system does not let go,
// such as reads from a server that hangs.
const endTime = 5 * time.Second

// Serve serves an environment of this machine, which the other side chooses by its options, until
// the stream or the context ends. It then ends everything that was started, and returns when it is
// gone. It closes the stream. An end of the stream after the greeting is not an error, unless the
// other side does not keep to the protocol.
func Serve(ctx context.Context, stream io.ReadWriteCloser) error {
	return serve(ctx, stream, func(o wire.Options) (environment, error) {
		l, err := open(o)
		if err != nil {
			return nil, err // not a nil *env.Local in an interface
		}
		return l, nil
	})
}

// environment describes what is served: an env.Local, except in tests.
type environment interface {
	env.Environment
	env.Tree
	env.Replacer
	env.Resolver
	env.Locker
	Abandoned() ([]string, error)
	Close() error
}

// serve serves the environment that open returns.
func serve(ctx context.Context, stream io.ReadWriteCloser, open func(wire.Options) (environment, error)) error {
	link, err := wire.Far(stream)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { link.Fail(context.Cause(ctx)) })
	defer stop()
	local, err := greet(link, open)
	if err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		return errors.Join(err, link.Close(closing))
	}
	s := newServer(link, local)
	s.accept(ctx)
	if err := link.Reason(); errors.Is(err, wire.ErrProtocol) {
		return errors.Join(err, s.close())
	}
	return s.close()
}

// greet answers the greeting, and returns the environment that it asks for.
func greet(link *wire.Link, open func(wire.Options) (environment, error)) (environment, error) {
	late := time.AfterFunc(wire.GreetingTime, func() { link.Fail(errors.New("no greeting has come")) })
	defer late.Stop()
	stream, err := link.Accept()
	if err != nil {
		return nil, reasonOf(link, err)
	}
	defer stream.Close()
	hello, err := receiveHello(stream)
	if err != nil {
		return nil, reasonOf(link, err)
	}
	welcome := wire.Welcome{Oldest: wire.OldestVersion, Newest: wire.NewestVersion}
	if hello.Oldest > wire.NewestVersion || hello.Newest < wire.OldestVersion {
		return nil, errors.Join(
			fmt.Errorf("the other side speaks the versions %d to %d of the protocol, this program %d to %d",
				hello.Oldest, hello.Newest,
				wire.OldestVersion, wire.NewestVersion), stream.Finish(welcome, nil), waitClosed(stream))
	}
	welcome.Version = min(hello.Newest, wire.NewestVersion)
	local, err := open(hello.Options)
	if err != nil {
		return nil, errors.Join(err, stream.Finish(nil, err), waitClosed(stream))
	}
	link.Watch(hello.Options.Silence)
	describe(&welcome, local)
	if err := stream.Finish(welcome, nil); err != nil {
		return nil, errors.Join(reasonOf(link, err), local.Close())
	}
	return local, nil
}

// waitClosed waits until the other side has read an answer and closes the stream, or until the link
// ends.
func waitClosed(stream *wire.Stream) error {
	if m, err := stream.Receive(nil); err == nil {
		return fmt.Errorf("a message of type %d after the greeting: %w", m.Type, wire.ErrProtocol)
	}
	return nil
}

// reasonOf returns why a link has ended in place of the error that follows from it.
func reasonOf(link *wire.Link, err error) error {
	var broken *wire.Broken
	if errors.As(err, &broken) {
		return link.Broke(broken.Err)
	}
	return err
}

func receiveHello(stream *wire.Stream) (*wire.Hello, error) {
	m, err := stream.Receive(nil)
	if err != nil {
		return nil, err
	}
	var r wire.Request
	if err := m.Into(wire.TypeRequest, &r); err != nil {
		return nil, err
	}
	if r.Op != wire.OpHello || r.Hello == nil || r.Hello.Magic != wire.Magic || r.Hello.Oldest > r.Hello.Newest {
		return nil, fmt.Errorf("the first message is not a greeting: %w", wire.ErrProtocol)
	}
	return r.Hello, nil
}

// open opens the environment.
func open(o wire.Options) (*env.Local, error) {
	return env.NewLocal(string(cmp.Or(o.Dir, ".")), env.LocalOptions{
		Roots: wire.Strings(o.Roots), ReadOnly: wire.Strings(o.ReadOnly), Grace: o.Grace, Limits: o.Limits,
		Containment:  o.Containment,
		EndAbandoned: true, AnyNames: o.AnyNames,
	})
}

// describe adds what an environment says about itself.
func describe(w *wire.Welcome, l environment) {
	ended, err := l.Abandoned()
	w.Ended, w.EndedError = wire.Texts(ended), wire.ErrorOf(err)
	w.WorkDir, w.Platform = wire.Text(l.WorkDir()), l.Platform()
	c := env.ConfinementOf(l)
	w.Confinement, w.Containment = wire.ConfinementOf(c), wire.Text(c.Containment)
	w.Grace, w.HidesHost = c.KillGrace, c.HidesHost
}
