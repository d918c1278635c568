package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// inMemory is an environment in memory, whose commands are Go functions, so that arbitrary requests
// do no harm.
type inMemory struct{ *envtest.Memory }

func (inMemory) Lock(context.Context, ...string) (func(), error) { return func() {}, nil }
func (inMemory) Abandoned() ([]string, error)                    { return nil, nil }
func (inMemory) Close() error                                    { return nil }

func (m inMemory) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	return env.Replace(ctx, m.Memory, name, was, data, perm)
}

func (m inMemory) Delete(ctx context.Context, name string, was env.Hash) error {
	return env.Delete(ctx, m.Memory, name, was)
}

func newMemory(wire.Options) (environment, error) {
	m := envtest.NewMemory(map[string]string{"a.txt": "some text\n", "dir/b.txt": "more text\n"})
	m.Commands = func(context.Context, env.Command) env.Exit { return env.Exit{Code: 3} }
	return inMemory{m}, nil
}

// written is a stream whose other side has sent everything and takes everything.
type written struct {
	io.Reader
	out bytes.Buffer
}

func (w *written) Write(p []byte) (int, error) { return w.out.Write(p) }
func (w *written) Close() error                { return nil }

// frame returns a frame of yamux.
func frame(kind byte, flags uint16, stream uint32, length int, body ...byte) []byte {
	b := []byte{0, kind}
	b = binary.BigEndian.AppendUint16(b, flags)
	b = binary.BigEndian.AppendUint32(b, stream)
	b = binary.BigEndian.AppendUint32(b, uint32(length))
	return append(b, body...)
}

// message returns a frame that has a message, and begins the stream if it is a request.
func message(stream uint32, t wire.Type, payload []byte) []byte {
	m := binary.BigEndian.AppendUint32([]byte{byte(t)}, uint32(len(payload)))
	m = append(m, payload...)
	flags := uint16(0)
	if t == wire.TypeRequest {
		flags = 1
	}
	return frame(0, flags, stream, len(m), m...)
}

func request(stream uint32, r wire.Request) []byte {
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return message(stream, wire.TypeRequest, data)
}

func hello(oldest, newest int) []byte {
	return request(1, wire.Request{Op: wire.OpHello,
		Hello: &wire.Hello{Magic: wire.Magic, Oldest: oldest, Newest: newest}})
}

// Arbitrary bytes of the near side lead to an end of the server, without a panic, and nothing is
// left.
func FuzzO1_Server(f *testing.F) {
	f.Add([]byte("SSH-2.0-OpenSSH"), false)
	f.Add(hello(1, 1), false)
	f.Add(request(3, wire.Request{Op: wire.OpStat, Name: "a.txt"}), true)
	f.Add(append(request(3, wire.Request{Op: wire.OpWrite, Name: "new", Size: 3}),
		append(message(3, wire.TypeData, []byte("abc")), message(3, wire.TypeEnd, nil)...)...), true)
	f.Add(append(request(3, wire.Request{Op: wire.OpStart, Command: &wire.Command{Script: "x", Stdin: true}}),
		message(3, wire.TypeData, []byte("input"))...), true)
	f.Add(append(request(3, wire.Request{Op: wire.OpGrep, Query: &wire.Query{Pattern: "text"}}),
		request(5, wire.Request{Op: wire.OpOpen, Name: "a.txt"})...), true)
	f.Add(append(frame(2, 1, 0, 7), frame(3, 0, 0, 0)...), true)
	f.Add(request(3, wire.Request{Op: wire.OpStart}), true)
	f.Add(request(3, wire.Request{Op: wire.OpLock, Names: []wire.Text{"a"}}), true)
	f.Add(request(3, wire.Request{Op: wire.OpKill, ID: "p1"}), true)
	f.Fuzz(func(t *testing.T, data []byte, greeted bool) {
		leaks := goleak.IgnoreCurrent()
		if greeted {
			data = append(hello(1, 1), data...)
		}
		_ = serve(t.Context(), &written{Reader: bytes.NewReader(data)}, newMemory) // an error or not: it has ended
		goleak.VerifyNone(t, leaks)
	})
}

// serveBytes serves a near side that has sent some bytes and then waits, and returns the server's
// error.
func serveBytes(t *testing.T, data []byte) error {
	t.Helper()
	near, far := net.Pipe()
	go io.Copy(io.Discard, near) // ends with the pipe
	go near.Write(data)          // the server may end before it has read everything
	err := serve(t.Context(), far, newMemory)
	_ = near.Close()
	return err
}

// A near side that does not keep to the protocol loses its connection.
func TestO1_HostileNearSide(t *testing.T) {
	many := hello(1, 1)
	for i := range 2000 {
		many = append(many, request(uint32(2*i+3), wire.Request{Op: wire.OpLock})...)
	}
	pings := hello(1, 1)
	for i := range 1000 {
		pings = append(pings, frame(2, 1, 0, i)...)
	}
	large := binary.BigEndian.AppendUint32([]byte{byte(wire.TypeRequest)}, wire.MaxRequest+1)
	over := append(request(3, wire.Request{Op: wire.OpWrite, Name: "new", Size: 3}),
		message(3, wire.TypeData, []byte("abcd"))...)
	less := append(request(3, wire.Request{Op: wire.OpWrite, Name: "new", Size: 3}),
		append(message(3, wire.TypeData, []byte("ab")), message(3, wire.TypeEnd, nil)...)...)
	for name, data := range map[string][]byte{
		"less than a file": append(hello(1, 1), less...),
		"text":             []byte("GET / HTTP/1.1\r\n\r\n"), "another message": append(hello(1, 1),
			message(3, wire.TypeRequest, []byte("{"))...),
		"a wrong type":    append(hello(1, 1), frame(0, 1, 3, 5, 99, 0, 0, 0, 0)...),
		"a large request": append(hello(1, 1), frame(0, 1, 3, len(large), large...)...),
		"a window":        append(hello(1, 1), frame(0, 1, 3, 1<<20)...), "more than a file": append(hello(1, 1),
			over...),
		"something after a request": append(append(hello(1, 1), request(3, wire.Request{Op: wire.OpLock})...),
			message(3, wire.TypeEnd, nil)...),
	} {
		t.Run(name, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			if err := serveBytes(t, data); !errors.Is(err, wire.ErrProtocol) {
				t.Errorf("the server has ended with %v", err)
			}
			goleak.VerifyNone(t, leaks)
		})
	}
	t.Run("streams", func(t *testing.T) {
		leaks := goleak.IgnoreCurrent()
		_ = serve(t.Context(), &written{Reader: bytes.NewReader(many)}, newMemory)
		goleak.VerifyNone(t, leaks)
	})
	t.Run("pings", func(t *testing.T) { // nobody reads the answers
		near, far := net.Pipe()
		defer near.Close()
		go near.Write(pings) // the server may end before it has read everything
		if err := serve(t.Context(), far, newMemory); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("the server has ended with %v", err)
		}
	})
}

// A near side that speaks only other versions is told the server's, and the server says so.
func TestO1_OtherVersions(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(t.Context(), far, newMemory) }()
	link, err := wire.Near(near, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s, err := link.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Request(wire.Request{Op: wire.OpHello, Hello: &wire.Hello{Magic: wire.Magic, Oldest: 7,
		Newest: 9}}); err != nil {
		t.Fatal(err)
	}
	var w wire.Welcome
	if err := s.Answer(&w); err != nil || w.Version != 0 || w.Newest != wire.NewestVersion ||
		w.Oldest != wire.OldestVersion {
		t.Errorf("%+v, %v", w, err)
	}
	s.Close()
	if err := <-done; err == nil || !strings.Contains(err.Error(), "7 to 9") {
		t.Errorf("Serve: %v", err)
	}
	_ = link.Close(t.Context())
}

// The end of the server's context ends what runs.
func TestO1_ServeEndsWithItsContext(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	dir := t.TempDir()
	near, far := net.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, far) }()
	link, err := wire.Near(near, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []wire.Request{{Op: wire.OpHello, Hello: &wire.Hello{Magic: wire.Magic, Oldest: 1, Newest: 1,
		Options: wire.Options{Dir: wire.Text(dir)}}},
		{Op: wire.OpStart, Command: &wire.Command{Script: "echo >started; exec sleep 1000"}}} {
		s, err := link.Open()
		if err == nil {
			err = s.Request(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(nil); err != nil || r.Op == wire.OpStart && m.Type != wire.TypeStarted {
			t.Fatalf("%s: message %d, %v", r.Op, m.Type, err)
		}
	}
	cancel(errors.New("terminated"))
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	<-link.Done()
	_ = link.Close(context.Background())
	goleak.VerifyNone(t, leaks)
}

// One operation beyond the limit is refused, and the others go on.
func TestO1_TooManyAtATime(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- serve(t.Context(), far, newMemory) }()
	link, err := wire.Near(near, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r wire.Request, into any) error {
		s, err := link.Open()
		if err == nil {
			err = s.Request(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.Answer(into)
	}
	if err := ask(wire.Request{Op: wire.OpHello, Hello: &wire.Hello{Magic: wire.Magic, Oldest: 1, Newest: 1}},
		new(wire.Welcome)); err != nil {
		t.Fatal(err)
	}
	for i := range wire.MaxLasting {
		if err := ask(wire.Request{Op: wire.OpLock}, nil); err != nil {
			t.Fatalf("lock %d: %v", i, err)
		}
	}
	if err := ask(wire.Request{Op: wire.OpLock}, nil); !errors.Is(err, wire.ErrBusy) {
		t.Errorf("one lock more: %v", err)
	}
	var node wire.Node
	if err := ask(wire.Request{Op: wire.OpStat, Name: "a.txt"}, &node); err != nil || node.Name != "a.txt" {
		t.Errorf("a question: %+v, %v", node, err)
	}
	_ = link.Close(t.Context())
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// counting counts the kills of its commands.
type counting struct {
	environment
	kills atomic.Int32
}

func (c *counting) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	p, err := c.environment.Start(ctx, cmd)
	return &counted{p, c}, err
}

type counted struct {
	env.Process
	of *counting
}

func (c *counted) Kill(ctx context.Context) error {
	c.of.kills.Add(1)
	return c.Process.Kill(ctx)
}

// A command that has ended is not killed when the near side closes its stream, because what it has
// left may go on. One that runs is.
func TestO1_KilledOnlyIfAbandoned(t *testing.T) {
	for _, ends := range []bool{true, false} {
		c := &counting{}
		near, far := net.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- serve(t.Context(), far, func(o wire.Options) (environment, error) {
				m := envtest.NewMemory(nil)
				m.Commands = func(ctx context.Context, _ env.Command) env.Exit {
					if !ends {
						<-ctx.Done()
					}
					return env.Exit{}
				}
				c.environment = inMemory{m}
				return c, nil
			})
		}()
		link, err := wire.Near(near, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []wire.Request{{Op: wire.OpHello, Hello: &wire.Hello{Magic: wire.Magic, Oldest: 1,
			Newest: 1}}, {Op: wire.OpStart, Command: &wire.Command{Script: "x"}}} {
			s, err := link.Open()
			if err == nil {
				err = s.Request(r)
			}
			if err != nil {
				t.Fatal(err)
			}
			for m := (wire.Message{}); err == nil && m.Type != wire.TypeDone && (ends || m.Type != wire.TypeStarted); {
				m, err = s.Receive(nil)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Close()
			if r.Op == wire.OpStart {
				_, _ = s.Receive(nil) // the far side closes it when it has done what it does about its end
				_, _ = s.Receive(nil)
			}
		}
		_ = link.Close(t.Context())
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if kills := c.kills.Load(); ends != (kills == 0) {
			t.Errorf("the command ends: %t, %d kills", ends, kills)
		}
	}
}
