// Command server is the scripted model that all contestants talk to, a process of its own so that
// its processor time is nobody's. It prints its address and serves until its standard input ends.
//
//	/shell/RUN/TOOL/ROUNDS  answers that call TOOL with a command, ROUNDS times, then a text; in all formats, by package fakellm
//	/noop/ID/ROUNDS       the same with the tool noop, in Anthropic's format, without looking at the request, for sessions of any length
//	/talk/ID/ROUNDS       the same with a text in five deltas before each call
//	/calls/RUN            how many calls the answers to /shell/RUN had
//	/sizes/ID?round=N     the size of the body of round N of such a session
//	/endless/KIND         an answer that never ends, in the format of the path
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", listener.Addr())
	mux := http.NewServeMux()
	short := &shellSessions{calls: map[string]int{}}
	mux.HandleFunc("/shell/{run}/{tool}/{rounds}/", short.serve)
	mux.HandleFunc("GET /calls/{run}", short.count)
	long := &longSessions{sessions: map[string][]int{}}
	mux.HandleFunc("POST /noop/{id}/{rounds}/", long.serve)
	mux.HandleFunc("POST /talk/{id}/{rounds}/", long.serve)
	mux.HandleFunc("GET /sizes/{id}", long.size)
	mux.HandleFunc("POST /endless/{kind}/", endless)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the end of the input ends the server
		_ = listener.Close()
	}()
	server := &http.Server{Handler: mux}
	if err := server.Serve(listener); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// shellSessions counts the calls of each run.
type shellSessions struct {
	mu    sync.Mutex
	calls map[string]int
}

func (s *shellSessions) count(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(w, s.calls[r.PathValue("run")])
}

// serve answers with calls of a shell tool. Each request gets a model of its own, because fakellm
// keeps all requests.
func (s *shellSessions) serve(w http.ResponseWriter, r *http.Request) {
	rounds, err := strconv.Atoi(r.PathValue("rounds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	model := func(req *fakellm.Request) fakellm.Turn {
		i := req.Turn()
		if i >= rounds || len(req.Tools) == 0 {
			return fakellm.Turn{ID: fmt.Sprintf("answer_%d", i), Text: "That is all there is to say."}
		}
		s.mu.Lock()
		s.calls[r.PathValue("run")]++
		s.mu.Unlock()
		return fakellm.Turn{ID: fmt.Sprintf("answer_%d", i),
			Calls: []fakellm.Call{{Name: r.PathValue("tool"), Args: arguments(r.PathValue("tool"),
				fmt.Sprintf("echo %d", i))}}}
	}
	fakellm.New(model, fakellm.Options{}).ServeHTTP(w, r)
}

// arguments returns the arguments by which a vendor's tool runs a command.
func arguments(tool, command string) json.RawMessage {
	args := map[string]any{"command": command}
	switch tool {
	case "exec_command":
		args = map[string]any{"cmd": command}
	case "Bash":
		args["description"] = "Prints a number"
	}
	data, err := json.Marshal(args)
	if err != nil {
		panic(err) // maps of strings are JSON
	}
	return data
}

// longSessions holds the sizes of the bodies of each long session, by its id.
type longSessions struct {
	mu       sync.Mutex
	sessions map[string][]int
}

func (l *longSessions) serve(w http.ResponseWriter, r *http.Request) {
	rounds, err := strconv.Atoi(r.PathValue("rounds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r.Body, make([]byte, 256<<10))
	if err != nil {
		return // the client has gone
	}
	l.mu.Lock()
	round := len(l.sessions[r.PathValue("id")])
	l.sessions[r.PathValue("id")] = append(l.sessions[r.PathValue("id")], int(n))
	l.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	switch {
	case round >= rounds:
		fmt.Fprint(w, lastText)
	case strings.HasPrefix(r.URL.Path, "/talk/"):
		fmt.Fprint(w, begun, aText)
		fmt.Fprintf(w, callOfNoop, 1, round, 1, round, 1)
	default:
		fmt.Fprint(w, begun)
		fmt.Fprintf(w, callOfNoop, 0, round, 0, round, 0)
	}
}

func (l *longSessions) size(w http.ResponseWriter, r *http.Request) {
	round, err := strconv.Atoi(r.FormValue("round"))
	l.mu.Lock()
	defer l.mu.Unlock()
	if sizes := l.sessions[r.PathValue("id")]; err == nil && round >= 0 && round < len(sizes) {
		fmt.Fprint(w, sizes[round])
		return
	}
	http.NotFound(w, r)
}

const begun = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-5-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}

`

const callOfNoop = `event: content_block_start
data: {"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"toolu_%d","name":"noop","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"{\"n\":%d}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":%d}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`

const textBegun = `event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`

const textDelta = `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"three more words "}}

`

const textEnd = `event: content_block_stop
data: {"type":"content_block_stop","index":0}

`

const (
	aText    = textBegun + textDelta + textDelta + textDelta + textDelta + textDelta + textEnd
	lastText = begun + textBegun + textDelta + textEnd + `event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`
)
