package faults

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm/fakellm"
)

const (
	mostEffects = 5 // of a session, each in a call of its own
	mostCalls   = mostEffects + 1
	done        = "All effects are done."
	killer      = "killer" // the session during whose commands the worker is killed
)

// promptOf returns the prompt of a session.
func promptOf(id string) string { return "Do the work of session <" + id + ">." }

// model is the scripted model of all sessions.
type model struct {
	effects string // a directory outside of the fleet, in which each session's effects are counted
	latency time.Duration
	port    string
	server  *fakellm.Server

	mu    sync.Mutex
	asked int
	marks map[int]chan struct{} // closed when that many calls were made
}

// serveModel serves a model on all addresses of this machine until the end of the test.
func serveModel(t *testing.T, latency time.Duration) *model {
	t.Helper()
	m := &model{effects: t.TempDir(), latency: latency, marks: map[int]chan struct{}{}}
	m.server = fakellm.New(m.turn, fakellm.Options{})
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, m.port, _ = net.SplitHostPort(l.Addr().String()) // the address of a listener has both
	web := &http.Server{Handler: m}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	t.Cleanup(func() {
		if err := web.Close(); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return m
}

// ServeHTTP answers after the latency.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	timer := time.NewTimer(m.latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		m.server.ServeHTTP(w, r)
	case <-r.Context().Done():
	}
}

// after returns a channel that is closed when n calls were made.
func (m *model) after(n int) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	mark := make(chan struct{})
	if m.asked >= n {
		close(mark)
	} else {
		m.marks[n] = mark
	}
	return mark
}

// turn returns the response to a request: a command with one effect, which leaves a line outside of
// the fleet and one in the workspace, or the end. What a session's script does depends on nothing
// but the conversation.
func (m *model) turn(r *fakellm.Request) fakellm.Turn {
	m.mu.Lock()
	m.asked++
	if mark := m.marks[m.asked]; mark != nil {
		close(mark)
		delete(m.marks, m.asked)
	}
	m.mu.Unlock()
	n := r.Turn()
	if n >= mostEffects {
		return fakellm.Turn{Text: done}
	}
	_, rest, _ := strings.Cut(r.Messages[0].Parts.Text(), "<")
	id, _, _ := strings.Cut(rest, ">")
	line := effectOf(id, n)
	command := fmt.Sprintf("sleep 0.1; echo %s >>%s/%s; echo %s >>done.txt; cat done.txt", line, m.effects, id, line)
	if id == killer {
		command = fmt.Sprintf("echo %s >>%s/%s; sleep 60", line, m.effects, id)
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err) // strings can be encoded
	}
	return fakellm.Turn{Calls: []fakellm.Call{{ID: "call_" + line, Name: "shell", Args: args}}}
}

// effectOf names an effect.
func effectOf(id string, n int) string { return fmt.Sprintf("%s-effect-%d", id, n) }
