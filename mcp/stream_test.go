package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/tool"
)

// notices are notifications of which the SDK needs none, and which it would queue.
func notices(w io.Writer, n int) {
	for i := range n {
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/%s","params":{"level":"info","data":"%d"}}`+
			"\n\n",
			[]string{"message", "resources/updated", "cancelled", "made/up", "progress"}[i%5], i)
	}
}

// questions are requests of a server, numbered from a number on.
func questions(w io.Writer, from, n int) {
	for i := from; i < from+n; i++ {
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"mode":"form","message":"Day?","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n", i)
	}
}

// What a remote server sends besides responses is bounded before the SDK gets it, as that of a
// process is.
func TestM5_WhatTheSDKGets(t *testing.T) {
	t.Parallel()
	const done = `{"jsonrpc":"2.0","id":7,"result":{}}`
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}`
	events := func(body func(w io.Writer)) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			body(w)
		}
	}
	plainly := func(text string) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string // in what the SDK gets
		most   int    // bytes of it
	}{
		"notifications": {events(func(w io.Writer) { notices(w, 50_000); fmt.Fprintf(w, "data: %s\n\n", done) }),
			`"id":7,"result":{}`, 100},
		"after the end": {events(func(w io.Writer) { fmt.Fprintf(w, "data: %s\n\n", done); questions(w, 0, 10) }),
			`"id":7,"result":{}`, 100},
		"questions": {events(func(w io.Writer) { questions(w, 0, 200); fmt.Fprintf(w, "data: %s\n\n", done) }),
			"it sent more than 32 requests", 33 * 250},
		"lines": {events(func(w io.Writer) {
			io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":7,\"result\":{}}\r\n\r\n")
		}), `"id":7,"result":{}`, 100},
		"without an end": {events(func(w io.Writer) { io.WriteString(w, ": hello\nnothing\ndata: "+done) }),
			`"id":7,"result":{}`, 100},
		"places": {events(func(w io.Writer) {
			io.WriteString(w, "id: 9\nretry: 1\ndata:\n\nevent: other\ndata: "+done+"\n\n")
		}), "id: 9\nretry: 100\n\n", 21},
		"a list": {events(func(w io.Writer) { fmt.Fprintf(w, "data: [null,%s]\n\n", done) }),
			`"id":7,"result":{}`, 100},
		"nothing": {events(func(io.Writer) {}), "", 0},
		"half a response": {events(func(w io.Writer) {
			io.WriteString(w,
				`data: {"jsonrpc":"1.0","id":7,"result":{}}`+"\n\n")
		}), "its response cannot be read", 200},
		"a broken one": {events(func(w io.Writer) { io.WriteString(w, `data: {"jsonrpc":"2.0","id":7,`+"\n\n") }),
			"it sent a message that cannot be read", 200},
		"JSON":            {plainly(done), `"id":7,"result":{}`, 100},
		"a JSON list":     {plainly("[" + done + "]"), `"id":7,"result":{}`, 100},
		"a JSON question": {plainly(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), `"method":"ping"`, 100},
		"deep":            {plainly(strings.Repeat("[", 4<<20)), "it sent a message that cannot be read", 200},
		"long":            {plainly(strings.Repeat(" ", maxMessage+1)), "it sent a message of more than 16 MiB", 200},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPlain(t)
			p.Before = func(w http.ResponseWriter, _ *http.Request, _ string) bool {
				c.answer(w)
				return true
			}
			transport, end, err := dialRemote(p.server(), nil, nil, nil,
				&inbox{on: func(string, json.RawMessage) bool { return false }})
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL, strings.NewReader(call))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Mcp-Session-Id", "s")
			resp, err := transport.(*sdk.StreamableClientTransport).HTTPClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil || !strings.Contains(string(got), c.want) || len(got) > c.most {
				t.Errorf("the SDK gets %d bytes, %.300q, %v, want at most %d with %q", len(got), got, err, c.most,
					c.want)
			}
		})
	}
}

// Requests of a remote server are answered while it has few of them open, and again once it has got
// responses.
func TestM5_QuestionsOfARemoteServer(t *testing.T) {
	p := startPlain(t)
	answers := make(chan struct{}, 100)
	p.Before = func(w http.ResponseWriter, r *http.Request, body string) bool {
		switch {
		case strings.Contains(body, "server/discover"): // an older server, whose requests are messages
			http.Error(w, "what?", http.StatusBadRequest)
		case strings.Contains(body, `"action":"accept"`):
			w.WriteHeader(http.StatusAccepted)
			answers <- struct{}{}
		case strings.Contains(body, "tools/call"):
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 10 { // each ten have to be answered before the next ten come
				questions(w, 10*i, 10)
				_ = http.NewResponseController(w).Flush() // the answers do not come otherwise
				for range 10 {
					select {
					case <-answers:
					case <-r.Context().Done():
						return true
					}
				}
			}
			id := new(struct{ ID json.RawMessage })
			if err := json.Unmarshal([]byte(body), id); err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"answered"}]}}`+
				"\n\n", id.ID)
		default:
			return false
		}
		return true
	}
	s := ready(t, Options{Servers: []Server{{Name: "plain", URL: p.URL, Required: true}}, Answers: true})
	var mu sync.Mutex
	asked := 0
	who := &person{answer: func(context.Context, tool.Question) (tool.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return tool.Answer{Action: tool.ActionAccept, Content: json.RawMessage(`{}`)}, nil
	}}
	o := run(t.Context(), t, s, "mcp__plain__whoami", `{}`, tool.Call{Session: who})
	if o.Model.Text() != "answered" || asked != 100 {
		t.Errorf("the result is %q after %d questions", o.Model.Text(), asked)
	}
}

// A remote server's notifications have the effects that those of a process have.
func TestM1_NotificationsOfARemoteServer(t *testing.T) {
	p := startPlain(t)
	lists := atomic.Int32{}
	p.Before = func(w http.ResponseWriter, _ *http.Request, body string) bool {
		if strings.Contains(body, "tools/list") {
			lists.Add(1)
		}
		if !strings.Contains(body, "tools/call") {
			return false
		}
		var m struct {
			ID     json.RawMessage
			Params struct {
				Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
			}
		}
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"message":"half"}}`+"\n\n", m.Params.Meta.ProgressToken)
		for range 100 {
			io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
		}
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n\n",
			m.ID)
		return true
	}
	s := ready(t, Options{Servers: []Server{{Name: "plain", URL: p.URL, Required: true}}})
	before := lists.Load()
	var live bytes.Buffer
	o := run(t.Context(), t, s, "mcp__plain__whoami", `{}`,
		tool.Call{Live: func(_ int, data []byte) { live.Write(data) }})
	if o.Model.Text() != "done" || live.String() != "1 half\n" {
		t.Errorf("the result is %q, the progress %q", o.Model.Text(), live.String())
	}
	if n := lists.Load() - before; n < 1 || n > 5 {
		t.Errorf("the tools were listed %d times for one call", n)
	}
}

// FuzzM5_Events feeds bodies of remote servers to the reader: it ends, and what the SDK gets are
// events with messages.
func FuzzM5_Events(f *testing.F) {
	for _, seed := range []string{"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n",
		"id: 1\r\nretry: 5\r\ndata:\r\n\r\n",
		":\n\ndata: [1,\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"}]",
		`{"jsonrpc":"2.0","id":1,"result":{"a":[]}}`, "event: x\ndata: {\n\n\xff"} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, events bool) {
		call, err := jsonrpc.MakeID(float64(1))
		if err != nil {
			t.Fatal(err)
		}
		in := &inbox{on: func(string, json.RawMessage) bool { return true }}
		s := &stream{in: bufio.NewReaderSize(bytes.NewReader(data), 16), events: events, inbox: in, call: call}
		got, _ := io.ReadAll(s) // an error ends it as well
		for line := range bytes.Lines(got) {
			if text, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				if _, err := jsonrpc.DecodeMessage(bytes.TrimSpace(text)); err != nil {
					t.Errorf("the SDK gets %q: %v", text, err)
				}
			}
		}
		if len(in.open) > maxRequests {
			t.Errorf("%d requests are open", len(in.open))
		}
	})
}
