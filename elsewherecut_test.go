package attractor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/serve"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
)

var cutAll = flag.Bool("cut.all", false,
	"cut a session's connection in each frame, not only around calls and in each 151st")

// cutCommand is the first argument by which this test is the helper over there. Its second argument
// is a directory. If that has the file cut, with the direction and a number of bytes, the stream
// ends there, once.
const cutCommand = "cut"

// cutStream serves a stream that ends when one direction has had a number of bytes.
type cutStream struct {
	io.ReadWriteCloser
	left [2]int      // negative for no end
	kept [2]*os.File // what was read and written
}

// serveCut is the main function of the helper.
func serveCut(dir string) error {
	s := &cutStream{ReadWriteCloser: serve.Stdio(), left: [2]int{-1, -1}}
	for i := range s.kept {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(i)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		s.kept[i] = f
	}
	cut := filepath.Join(dir, "cut")
	if text, err := os.ReadFile(cut); err == nil {
		var direction, n int
		if _, err := fmt.Sscan(string(text), &direction, &n); err != nil {
			return err
		}
		if s.left[direction] = n; os.Remove(cut) != nil {
			return errors.New("the next connection would end, too")
		}
	}
	return serve.Serve(context.Background(), s)
}

// pass counts bytes of a direction, and returns those that still pass.
func (s *cutStream) pass(direction int, p []byte) []byte {
	if left := s.left[direction]; left >= 0 {
		p = p[:min(len(p), left)]
		s.left[direction] -= len(p)
	}
	_, _ = s.kept[direction].Write(p) // without it the test finds no frames
	return p
}

func (s *cutStream) Read(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Read(p)
	n = len(s.pass(0, p[:n]))
	if s.left[0] == 0 {
		err = errors.Join(io.ErrUnexpectedEOF, s.Close())
	}
	return n, err
}

func (s *cutStream) Write(p []byte) (int, error) {
	n, err := s.ReadWriteCloser.Write(s.pass(1, p))
	if s.left[1] == 0 {
		err = errors.Join(io.ErrUnexpectedEOF, s.Close())
	}
	return n, err
}

// placesIn returns places in the frames of a recorded direction: in a frame's header and after it,
// in turn. They are those of each step-th frame, and of the frames around one that has one of the
// texts.
func placesIn(data []byte, step int, texts ...string) (places []int, frames int) {
	var at []int
	wanted := map[int]bool{}
	for pos := 0; pos+12 <= len(data); {
		body := 0
		if data[pos+1] == 0 {
			body = int(binary.BigEndian.Uint32(data[pos+8:]))
		}
		i, end := len(at), min(pos+12+body, len(data))
		at = append(at, pos+5+i%2*(7+body))
		wanted[i] = wanted[i] || i%step == 0
		if slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(data[pos:end], []byte(text)) }) {
			wanted[i-1], wanted[i], wanted[i+1] = true, true, true
		}
		pos += 12 + body
	}
	for i, place := range at {
		if wanted[i] {
			places = append(places, place)
		}
	}
	return places, len(at)
}

// cutSession is a session whose first connection ends somewhere.
type cutSession struct {
	dir, notes string // over there, and of the helper
	results    map[string]*agent.ToolCallEnd
	result     *agent.Result
	err        error // of opening it
}

// runCut runs a session.
func runCut(t *testing.T, cut string) *cutSession {
	s := &cutSession{dir: t.TempDir(), notes: t.TempDir(), results: map[string]*agent.ToolCallEnd{}}
	server := httptest.NewServer(fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{fakeCall("shell",
			`{"command":"echo one >>log; sleep 1000 & echo two >>log"}`)}},
		fakellm.Turn{Calls: []fakellm.Call{fakeCall("write_file", `{"file_path":"a.txt","content":"first\n"}`)}},
		fakellm.Turn{Calls: []fakellm.Call{fakeCall("read_file", `{"file_path":"log"}`),
			fakeCall("grep", `{"pattern":"one"}`)}},
		fakellm.Turn{Calls: []fakellm.Call{fakeCall("shell", `{"command":"echo three >>log; echo said"}`)}},
		fakellm.Turn{Text: "done"}), fakellm.Options{}))
	defer server.Close()
	self, err := os.Executable()
	if err == nil && cut != "" {
		err = os.WriteFile(filepath.Join(s.notes, "cut"), []byte(cut), 0o600)
	}
	if err != nil {
		t.Error(err)
		return s
	}
	session, err := Open(t.Context(), Config{Dir: s.dir, Mode: permit.ModeFull,
		EnvCommand: []string{self, cutCommand, s.notes, "serve"},
		Vars: map[string]string{"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": server.URL,
			"HOME": t.TempDir()},
		OnEvent: func(ev agent.Event) {
			if e, ok := ev.(*agent.ToolCallEnd); ok {
				s.results[e.CallID] = e
			}
		}})
	if s.err = err; err != nil {
		return s
	}
	if s.result, err = session.Submit(t.Context(), "work"); err != nil {
		t.Errorf("cut at %q: %v", cut, err)
	}
	_ = session.Close() // it says if the connection has just broken
	return s
}

// check checks what a session has done.
func (s *cutSession) check(t *testing.T, cut string) (lost int) {
	log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
	if s.err != nil {
		if !errors.Is(s.err, env.ErrLost) && !errors.Is(s.err, ErrUnreachable) || len(log) > 0 {
			t.Errorf("cut at %q: Open: %v; it has run %q", cut, s.err, log)
		}
		return 0
	}
	if s.result.Reason != agent.ReasonCompleted || s.result.Text != "done" || len(s.results) != 5 {
		t.Errorf("cut at %q: it ended with %+v, and %d results", cut, s.result, len(s.results))
	}
	for id, lines := range map[string][]string{"call_0_0": {"one", "two"}, "call_3_0": {"three"}} {
		for _, line := range lines {
			switch n := strings.Count(string(log), line+"\n"); {
			case n > 1, n == 0 && s.results[id] != nil && !s.results[id].IsError:
				t.Errorf("cut at %q: %s ran %d times: %+v", cut, line, n, s.results[id])
			}
		}
	}
	for id, r := range s.results {
		if !r.IsError {
			continue
		}
		lost++
		if !slices.ContainsFunc([]string{"lost", "not exist", "could not be looked up"},
			func(text string) bool { return strings.Contains(r.Output, text) }) {
			t.Errorf("cut at %q: %s: %s", cut, id, r.Output)
		}
	}
	if text, err := os.ReadFile(filepath.Join(s.dir, "a.txt")); err == nil && string(text) != "first\n" ||
		err != nil && !s.results["call_1_0"].IsError {
		t.Errorf("cut at %q: the file has %q, %v", cut, text, err)
	}
	list, err := os.ReadDir(s.dir)
	for _, f := range list {
		if f.Name() != "log" && f.Name() != "a.txt" {
			t.Errorf("cut at %q: %s is left", cut, f.Name())
		}
	}
	if err != nil {
		t.Error(err)
	}
	return lost
}

// Wherever a session's connection ends, the session goes on over another one. Nothing is run twice,
// what was under way is told as lost, and nothing is left over there; TestMain looks for processes.
func TestO1_SessionCutAtEveryFrame(t *testing.T) {
	whole := runCut(t, "")
	if lost := whole.check(t, ""); lost > 0 || whole.err != nil {
		t.Fatalf("without a cut: %d calls have failed, %v", lost, whole.err)
	}
	var places []string
	step := 151
	if *cutAll {
		step = 1
	}
	// the calls, and the answers to them
	for direction, texts := range [][]string{{"echo one", "echo three", `"op":"write"`}, {`{"id":"p`, "said"}} {
		data, err := os.ReadFile(filepath.Join(whole.notes, fmt.Sprint(direction)))
		if err != nil {
			t.Fatal(err)
		}
		in, frames := placesIn(data, step, texts...)
		for _, place := range in {
			places = append(places, fmt.Sprint(direction, " ", place))
		}
		t.Logf("%d of %d frames in direction %d", len(in), frames, direction)
	}
	next := make(chan string)
	var all sync.WaitGroup
	var mu sync.Mutex
	lost, unopened := 0, 0
	for range 4 {
		all.Go(func() {
			for cut := range next {
				s := runCut(t, cut)
				n := s.check(t, cut)
				mu.Lock()
				if lost += n; s.err != nil {
					unopened++
				}
				mu.Unlock()
			}
		})
	}
	for _, cut := range places {
		next <- cut
	}
	close(next)
	all.Wait()
	t.Logf("%d places: %d sessions did not open, and %d calls were lost", len(places), unopened, lost)
	if lost == 0 || unopened == len(places) {
		t.Error("no cut was in a call")
	}
}

func fakeCall(name, args string) fakellm.Call { return fakellm.Call{Name: name, Args: []byte(args)} }
