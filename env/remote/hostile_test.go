package remote_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// replayed is a stream whose other side sends some bytes more after each write, whatever was
// written, and then ends.
type replayed struct {
	step int
	mu   sync.Mutex
	more *sync.Cond
	rest []byte
	may  int  // bytes that may be read
	hold bool // the end does not come by itself
	end  bool
}

func newReplayed(data []byte, step int) *replayed {
	r := &replayed{rest: data, step: step}
	r.more = sync.NewCond(&r.mu)
	return r
}

func (r *replayed) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.end && (r.may == 0 && len(r.rest) > 0 || r.hold && len(r.rest) == 0) {
		r.more.Wait()
	}
	if len(r.rest) == 0 || r.end {
		return 0, io.EOF
	}
	n := copy(p, r.rest[:min(r.may, len(r.rest))])
	r.rest, r.may = r.rest[n:], r.may-n
	return n, nil
}

func (r *replayed) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.may += r.step
	r.more.Signal()
	return len(p), nil
}

func (r *replayed) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = true
	r.more.Signal()
	return nil
}

// farFrames returns frames with messages of the far side on a stream, which begin with the
// multiplexer's acknowledgement.
func farFrames(stream uint32, messages ...wire.Message) (data []byte) {
	frame := func(kind byte, flags uint16, body []byte) {
		data = binary.BigEndian.AppendUint16(append(data, 0, kind), flags)
		data = binary.BigEndian.AppendUint32(data, stream)
		data = binary.BigEndian.AppendUint32(data, uint32(len(body)))
		data = append(data, body...)
	}
	frame(1, 2, nil)
	for _, m := range messages {
		frame(0, 0, append(binary.BigEndian.AppendUint32([]byte{byte(m.Type)}, uint32(len(m.Payload))), m.Payload...))
	}
	return data
}

// answered returns messages that answer a question.
func answered(v any) []wire.Message {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return []wire.Message{{Type: wire.TypeAnswer, Payload: data}, {Type: wire.TypeDone, Payload: []byte("{}")}}
}

// Arbitrary bytes of the far side lead to errors, without a panic or a hang, and nothing is left.
func FuzzO1_Client(f *testing.F) {
	welcome := farFrames(1, answered(wire.Welcome{Oldest: 1, Newest: 1, Version: 1, WorkDir: "/w"})...)
	node := wire.Node{Name: "a", Mode: 0o644}
	for _, answer := range [][]wire.Message{answered(node), answered([]wire.Node{node}),
		answered(wire.Found{Files: wire.List[wire.Matches]{{Path: "a"}}}), answered("text"),
		{{Type: wire.TypeStarted, Payload: []byte(`{"id":"p1","input":true}`)},
			{Type: wire.TypeStdout, Payload: []byte("out")}, {Type: wire.TypeEnded, Payload: []byte{1}},
			{Type: wire.TypeInput, Payload: []byte(`{"error":{"text":"closed"}}`)},
			{Type: wire.TypeAnswer, Payload: []byte(`{"code":3}`)}, {Type: wire.TypeDone, Payload: []byte("{}")}},
		{{Type: wire.TypeDone, Payload: []byte(
			`{"error":{"op":"stat","path":"a","text":"no","kinds":["not_exist"]}}`)}}} {
		for op := range byte(7) {
			f.Add(append(welcome[:len(welcome):len(welcome)], farFrames(3, answer...)...), byte(64), op)
		}
	}
	f.Add([]byte("SSH-2.0-OpenSSH\r\n"), byte(255), byte(0))
	f.Fuzz(func(t *testing.T, data []byte, step, op byte) {
		leaks := goleak.IgnoreCurrent()
		// a side that never answers is left by the context
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		e, err := remote.New(ctx, newReplayed(data, 1+int(step)), remote.Options{Silence: 100 * time.Millisecond})
		if err != nil {
			goleak.VerifyNone(t, leaks)
			return
		}
		switch op % 7 {
		case 0:
			_, err = e.Stat(ctx, "a")
		case 1:
			_, err = e.ReadDir(ctx, "a")
		case 2:
			_ = readAll(ctx, e, "a")
		case 3:
			_ = e.WriteFile(ctx, "a", make([]byte, 100_000), 0o644)
		case 4:
			_ = commandStory(ctx, e)
		default:
			_ = story(ctx, e)
		}
		if ctx.Err() != nil {
			t.Errorf("it hangs, with %v", err)
		}
		_ = e.Close()
		goleak.VerifyNone(t, leaks)
	})
}

// mute is a far side that keeps the connection alive, starts a command, and answers nothing else.
// It closes begun when input for the command has come, and takes no more.
func mute(t *testing.T, link *wire.Link, welcome wire.Welcome, begun chan<- struct{}) {
	for n := 0; ; n++ {
		s, err := link.Accept()
		if err != nil {
			return
		}
		m, err := s.Receive(nil)
		var r wire.Request
		if err == nil {
			err = m.Into(wire.TypeRequest, &r)
		}
		switch r.Op {
		case wire.OpHello:
			err = s.Finish(welcome, nil)
		case wire.OpStart:
			err = s.Send(wire.Message{Type: wire.TypeStarted, Payload: []byte(`{"id":"p1","input":true}`)},
				wire.Message{Type: wire.TypeEnded, Payload: []byte{77}})
			if err == nil {
				_, err = s.Receive(nil)
			}
			close(begun)
		}
		if err != nil {
			t.Errorf("stream %d: %v", n, err)
		}
	}
}

// A far side that is alive and does not answer keeps nobody waiting for ever, whatever it says
// about its grace time.
func TestO1_FarSideThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	link, err := wire.Far(far)
	if err != nil {
		t.Fatal(err)
	}
	served, begun := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		mute(t, link, wire.Welcome{Oldest: 1, Newest: 1, Version: 1, WorkDir: "/w", Grace: math.MaxInt64}, begun)
	}()
	e, err := remote.New(t.Context(), near, remote.Options{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	if e.SetEnd(50 * time.Millisecond); e.Confinement().KillGrace != 0 {
		t.Errorf("its grace time is %v", e.Confinement().KillGrace)
	}
	p, err := e.Start(t.Context(),
		env.Command{Stdin: true, Ended: func(stream int) { t.Errorf("the stream %d has ended", stream) }})
	if err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 1<<20)) // more than the other side takes
		written <- err
	}()
	<-begun
	if err := p.Kill(context.Background()); err == nil {
		t.Error("the command was killed")
	}
	if err := p.Stdin().Close(); err == nil {
		t.Error("the input was closed")
	}
	if err := e.Close(); err == nil {
		t.Error("the far side has ended")
	}
	if err := <-written; err == nil {
		t.Error("the input was taken")
	}
	if _, err := p.Wait(t.Context()); !errors.Is(err, env.ErrLost) {
		t.Errorf("the command ended with %v", err)
	}
	_ = link.Close(t.Context()) // it has ended
	<-served
}

// A helper of another version is a typed error that names both ranges, and one that is none is an
// error too.
func TestO1_OldHelper(t *testing.T) {
	old := farFrames(1, answered(wire.Welcome{Oldest: 0, Newest: 0})...)
	far0 := newReplayed(old, 100)
	far0.hold = true
	_, err := remote.New(t.Context(), far0, remote.Options{})
	var version *remote.VersionError
	if !errors.As(err, &version) || version.FarNewest != 0 || version.Newest < 1 || errors.Is(err, env.ErrLost) {
		t.Errorf("an old helper: %v", err)
	}
	if _, err := remote.New(t.Context(), newReplayed([]byte("bash: attractor-remote: command not found\n"), 100),
		remote.Options{}); !errors.Is(err, env.ErrLost) {
		t.Errorf("no helper: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	near, far := pipes(t)
	defer far.Close()
	gone := errors.New("gone")
	go func() {
		_, _ = far.Read(make([]byte, 1)) // it has greeted
		cancel(gone)
	}()
	if _, err := remote.New(ctx, near, remote.Options{}); !errors.Is(err, gone) {
		t.Errorf("a side that says nothing: %v", err)
	}
}

// What the far side says about its environment arrives, and its refusal of options as well.
func TestO1_Options(t *testing.T) {
	dir, readOnly := t.TempDir(), t.TempDir()
	e := open(t, remote.Options{Dir: dir, ReadOnly: []string{readOnly}, Grace: 3 * time.Second,
		Containment: env.ContainGroup, Limits: env.Limits{OpenFiles: 123}})
	c := e.Confinement()
	if e.WorkDir() != dir || c.KillGrace != 3*time.Second || c.Limits.OpenFiles != 123 || e.Platform().Shell == "" ||
		c.Containment != local(t, dir).Confinement().Containment && c.Containment[:5] != env.ContainGroup {
		t.Errorf("%s, %+v, %+v", e.WorkDir(), c, e.Platform())
	}
	if err := e.WriteFile(t.Context(), filepath.Join(readOnly, "a"), nil, 0o644); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a read-only directory: %v", err)
	}
	near, far := pipes(t)
	wait := served(t, far)
	if _, err := remote.New(t.Context(), near, remote.Options{Dir: filepath.Join(dir, "missing")}); !errors.Is(err,
		os.ErrNotExist) || errors.Is(err, env.ErrLost) {
		t.Errorf("a missing directory: %v", err)
	}
	if err := wait(); err == nil {
		t.Error("the server says nothing of it")
	}
}
