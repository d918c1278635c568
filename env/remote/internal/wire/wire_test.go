package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/yamux"
	"go.uber.org/goleak"
)

// bytesStream is a stream whose other side has sent everything.
type bytesStream struct {
	io.Reader
	out bytes.Buffer
}

func (b *bytesStream) Write(p []byte) (int, error)   { return b.out.Write(p) }
func (*bytesStream) Close() error                    { return nil }
func (*bytesStream) SetReadDeadline(time.Time) error { return nil }
func (*bytesStream) SetDeadline(time.Time) error     { return nil }
func newBytes(data []byte) (*Stream, *bytesStream) {
	b := &bytesStream{Reader: bytes.NewReader(data)}
	return newStream(b, new(waiters), &budget{left: maxAnswers}), b
}

// Messages of any bytes are read or refused, and what was read is written the same.
func FuzzO1_Messages(f *testing.F) {
	for _, m := range []Message{{TypeRequest, []byte(`{"op":"stat","name":{"base64":"/w=="}}`)},
		{TypeAnswer, []byte(`[{"name":"a","mod_time":[1,2]}]`)},
		{TypeDone, []byte(`{"error":{"text":"x","kinds":["not_exist"]}}`)},
		{TypeData, []byte("x")}, {TypeEnd, nil}} {
		s, b := newBytes(nil)
		if err := s.Send(m, Message{TypeDone, []byte("{}")}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.out.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, _ := newBytes(data)
		again, written := newBytes(nil)
		for {
			m, err := s.Receive(nil)
			if err != nil {
				var broken *Broken
				if !errors.As(err, &broken) {
					t.Errorf("%v is not an error of the stream", err)
				}
				break
			}
			if err := again.Send(m); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(data, written.out.Bytes()) {
			t.Errorf("%q was written as %q", data, written.out.Bytes())
		}
		for _, into := range []any{&List[Node]{}, &Found{}, &Listing{}, &Welcome{}, new(Text)} {
			s, _ := newBytes(data)
			if err := s.Answer(into); err != nil && strings.Contains(err.Error(), "panic") {
				t.Error(err)
			}
		}
	})
}

// half is an element whose own list has half of the elements that a list may have in all.
type half struct{}

func (half) elements() int { return MaxNested / 2 }

// An answer that is too large, or whose list has too many elements, is refused, and gives its room
// back.
func TestO1_LargeAnswers(t *testing.T) {
	elements := "[" + strings.Repeat("{},", MaxEntries) + "{}]"
	s, b := newBytes(nil)
	if err := s.Finish(json.RawMessage(elements), nil); err != nil {
		t.Fatal(err)
	}
	s, _ = newBytes(b.out.Bytes())
	var nodes List[Node]
	if err := s.Answer(&nodes); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d elements: %v", MaxEntries+1, err)
	}
	if s.answers.left != maxAnswers {
		t.Errorf("%d bytes are left of %d", s.answers.left, maxAnswers)
	}
	var files List[half]
	if err := json.Unmarshal([]byte("[{},{}]"), &files); err != nil {
		t.Errorf("%d elements in lists of a list: %v", MaxNested, err)
	}
	if err := json.Unmarshal([]byte("[{},{},{}]"), &files); !errors.Is(err, ErrTooLarge) {
		t.Errorf("more than %d elements in lists of a list: %v", MaxNested, err)
	}
	if n := (Matches{Lines: make(List[Line], 3)}).elements(); n != 3 {
		t.Errorf("%d elements of 3", n)
	}
	large, b := newBytes(nil)
	if err := large.Finish(strings.Repeat("x", MaxAnswer), nil); err != nil {
		t.Fatal(err)
	}
	s, _ = newBytes(b.out.Bytes())
	if err := s.Answer(new(Text)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an answer above the limit: %v", err)
	}
	endless := bytes.Repeat(append([]byte{byte(TypeAnswer), 0, 1, 0, 0}, make([]byte, MaxData)...), MaxAnswer/MaxData+1)
	s, _ = newBytes(endless)
	if err := s.Answer(new(Text)); !errors.Is(err, ErrProtocol) {
		t.Errorf("an answer without an end: %v", err)
	}
	if m, err := JSON(TypeRequest, Request{Name: Text(strings.Repeat("x", MaxRequest))}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a request of %d bytes: %v", len(m.Payload), err)
	}
}

// A link is silent when nothing was heard for the whole time, whatever was heard before. It asks
// for a sign of life before.
func TestO1_Watch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, heard, pings := time.Now(), int64(0), 0
		const silence = time.Minute
		count := func() int64 {
			if time.Since(begin) < 5*silence {
				// the network stops for half a minute, again and again
				heard = int64(time.Since(begin) / (30 * time.Second))
			}
			return heard
		}
		err := watch(make(chan struct{}), silence, count, func() { pings++ })
		if took := time.Since(begin); !errors.Is(err, ErrSilent) || took < 5*silence+silence/2 ||
			took > 6*silence+silence/3 {
			t.Errorf("%v after %v", err, took)
		}
		if pings < 15 {
			t.Errorf("%d pings", pings)
		}
		done := make(chan struct{})
		close(done)
		if err := watch(done, silence, count, nil); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A flood of pings ends the link: the answers to them would fill the memory if nobody reads them.
func TestO1_PingFlood(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	near, far := net.Pipe()
	link, err := Far(far)
	if err != nil {
		t.Fatal(err)
	}
	ping := []byte{0, framePing, 0, flagSYN, 0, 0, 0, 0, 0, 0, 0, 1}
	go near.Write(bytes.Repeat(ping, 10*maxPings)) // the link ends before it has read everything
	<-link.Done()
	if !errors.Is(link.Reason(), ErrProtocol) {
		t.Errorf("ended by %v", link.Reason())
	}
	_ = link.Close(t.Context())
	_ = near.Close()
	goleak.VerifyNone(t, leaks)
}

// Pings that are answered are no flood.
func TestO1_ManyPings(t *testing.T) {
	near, far := net.Pipe()
	a, errA := Near(near, time.Minute)
	b, errB := Far(far)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	for range 10 * maxPings {
		if _, err := a.session.Ping(); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = a.Close(t.Context()), b.Close(t.Context())
}

// The far side must not open streams.
func TestO1_StreamOfTheFarSide(t *testing.T) {
	near, far := net.Pipe()
	link, err := Near(near, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, far)                                    // ends with the pipe
	go far.Write([]byte{0, 1, 0, flagSYN, 0, 0, 0, 2, 0, 0, 0, 0}) // ends with the pipe
	<-link.Done()
	if !errors.Is(link.Reason(), ErrProtocol) {
		t.Errorf("ended by %v", link.Reason())
	}
	_ = far.Close()
}

// What was sent before the end of a link is received, also by those that wait for it while the link
// ends.
func TestO1_AnswersBeforeTheEnd(t *testing.T) {
	for range 300 {
		here, there := net.Pipe()
		near, err := Near(here, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		far, err := Far(there)
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan struct{})
		go func() {
			s, err := far.Accept()
			if err == nil {
				_, err = s.Receive(nil)
			}
			<-asked // a request that is still being sent when the link ends has failed
			if err == nil {
				err = s.Finish(Node{Name: "a"}, nil)
			}
			if err != nil {
				t.Error(err)
			}
			_ = far.Close(t.Context())
		}()
		s, err := near.Open()
		if err == nil {
			err = s.Request(Request{Op: OpStat, Name: "a"})
		}
		close(asked)
		var node Node
		if err == nil {
			err = s.Answer(&node)
		}
		if err != nil || node.Name != "a" {
			t.Fatalf("%+v, %v", node, err)
		}
		<-near.Done()
		if reason := near.Reason(); !errors.Is(reason, io.EOF) {
			t.Errorf("the link ended with %v", reason)
		}
		if _, err := s.Receive(nil); err == nil {
			t.Error("a message after the end")
		}
		_ = near.Close(t.Context())
	}
}

// stuck is a stream that reads and writes until its deadline.
type stuck struct {
	rawStream
	over chan struct{}
	once sync.Once
}

func (s *stuck) Read([]byte) (int, error)    { <-s.over; return 0, yamux.ErrTimeout }
func (s *stuck) Write([]byte) (int, error)   { <-s.over; return 0, yamux.ErrTimeout }
func (s *stuck) SetDeadline(time.Time) error { s.once.Do(func() { close(s.over) }); return nil }

// Those that wait for a stream are let go before the multiplexer learns of the end, which it would
// tell hundreds of them again and again.
func TestO1_WaitersAreLetGo(t *testing.T) {
	for name, end := range map[string]func(l *line, there net.Conn){
		"the other side ends": func(l *line, there net.Conn) {
			_ = there.Close()
			if _, err := l.Read(make([]byte, 1)); err == nil {
				t.Error("something was read")
			}
		},
		"this side ends": func(l *line, _ net.Conn) { _ = l.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				l := newLine(here)
				first, late := &stuck{over: make(chan struct{})}, &stuck{over: make(chan struct{})}
				var waiting sync.WaitGroup
				use := func(s *stuck) {
					w := &waiter{s, &l.waiters}
					waiting.Go(func() { _, _ = w.Read(nil) })
					waiting.Go(func() { _, _ = w.Write(nil) })
				}
				use(first)
				synctest.Wait()
				end(l, there)
				use(late)
				waiting.Wait()
				_ = l.Close()
				_ = there.Close()
			})
		})
	}
}
