package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/attractor-go/attractor/internal/stdioproc"
	"github.com/attractor-go/attractor/tool"
)

// manyQuestions counts the questions of a server during a call.
const manyQuestions = 200

// raw is a server made of lines, which does to the other side what a call says, or one that reads
// nothing more once it has started.
func raw(deaf bool) error {
	return answer(func(m *request) string {
		switch m.Method {
		case "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`+"\n",
				must(json.Marshal(m.ID)))
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"0"}}`
		case "tools/list":
			return `{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			if deaf {
				time.Sleep(time.Hour)
			}
			var args struct{ What string }
			if err := json.Unmarshal(m.Params.Arguments, &args); err != nil {
				panic(err)
			}
			return does()[args.What](m)
		}
		return ""
	})
}

// does returns what the server raw can do to the other side during a call. Each returns the call's
// result.
func does() map[string]func(m *request) string {
	ok := func(what any) string {
		return `{"content":[{"type":"text","text":` + string(must(json.Marshal(fmt.Sprint(what)))) + `}]}`
	}
	return map[string]func(*request) string{
		// notifications that nobody waits for
		"notify": func(m *request) string {
			for i := range 50_000 {
				fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/%s","params":{"level":"info","data":"%d"}}`+"\n",
					[]string{"message", "tools/list_changed", "resources/updated", "cancelled", "made/up"}[i%5], i)
			}
			return ok("notified")
		},
		// more requests than may be open, of which the first wait for a person
		"ask": func(m *request) string {
			for i := range manyQuestions {
				fmt.Printf(`{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"mode":"form","message":"Day?","requestedSchema":{"type":"object","properties":{}}}}`+"\n", i)
			}
			return ""
		},
		"deep": func(*request) string { return strings.Repeat("[", 4<<20) + strings.Repeat("]", 4<<20) },
		"null": func(*request) string { return "null" },
		"nulls": func(*request) string {
			return `{"content":[null,{"type":"text"},{"type":"image","data":"!"},{"type":"resource"}]}`
		},
		"number": func(*request) string { return "7" },
		"kind":   func(*request) string { return `{"content":[{"type":"hologram"}]}` },
		"error": func(m *request) string {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad\u001b[31m %s"}}`+"\n",
				must(json.Marshal(m.ID)), strings.Repeat("x", 1<<20))
			return ""
		},
		"version": func(m *request) string {
			fmt.Printf(`{"jsonrpc":"1.0","id":%s,"result":{}}`+"\n", must(json.Marshal(m.ID)))
			return ""
		},
		"empty": func(m *request) string {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s}`+"\n", must(json.Marshal(m.ID)))
			return ""
		},
		"other id": func(*request) string {
			fmt.Println(`{"jsonrpc":"2.0","id":999999,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"x","result":{}}` +
				"\n" + `{"jsonrpc":"2.0","id":null,"result":{}}`)
			return ok("other")
		},
		"stderr": func(*request) string {
			fmt.Fprint(os.Stderr, strings.Repeat("all work and no play\n", 1<<20), "the end\n")
			os.Exit(9)
			return ""
		},
	}
}

func what(name string) string { return `{"what":` + string(must(json.Marshal(name))) + `}` }

// Whatever a server sends, the call gets a result, the next call works, and nothing piles up.
func TestM5_HostileMessages(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := ready(t, Options{Servers: []Server{as(t, "raw", "raw")}, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Warn: func(string, error) {}})
	for name, want := range map[string]string{
		"notify":   "notified",
		"null":     "",
		"nulls":    "",
		"number":   "",
		"kind":     "",
		"error":    `refused the arguments of mcp__raw__do: bad\u{1b}[31m xxxx`,
		"version":  "its response cannot be read",
		"empty":    "",
		"other id": "other",
		"deep":     "ended during the call",
		"stderr":   "exit code 9; the last line that it printed: the end",
	} {
		o := run(t.Context(), t, s, "mcp__raw__do", what(name), tool.Call{})
		if text := o.Model.Text(); !strings.Contains(text, want) || text == "" || len(text) > 5000 {
			t.Errorf("%s: %.300q, want %q", name, text, want)
		}
	}
	if n := strings.Count(log.String(), "\n"); n == 0 || n > 500 {
		t.Errorf("%d of 10,000 messages were logged", n)
	}
}

// Too many requests, while the first of them wait for a person, end the server.
func TestM5_TooManyQuestions(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "raw", "raw")}, Answers: true})
	var asked atomic.Int64
	p := &person{answer: func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
		asked.Add(1)
		<-ctx.Done()
		return tool.Answer{}, ctx.Err()
	}}
	if o := run(t.Context(), t, s, "mcp__raw__do", what("ask"),
		tool.Call{Session: p}); !strings.Contains(o.Model.Text(),
		"it sent more than 32 requests without waiting for a response") {
		t.Errorf("the result is %q", o.Model.Text())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n > maxRequests {
		t.Errorf("the person was asked %d times", n)
	}
}

// A server that does not read its input holds up neither calls nor the end.
func TestM5_ServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	deaf := as(t, "deaf", "deaf")
	deaf.CallTimeout = 1 << 26 // 67 ms
	s := ready(t, Options{Servers: []Server{deaf}, Warn: func(string, error) {}})
	for range 20 {
		o := run(t.Context(), t, s, "mcp__deaf__do", `{"what":"`+strings.Repeat("x", 1<<20)+`"}`, tool.Call{})
		if !strings.Contains(o.Model.Text(), "did not answer within 67.108864ms") {
			t.Fatalf("the result is %q", o.Model.Text())
		}
	}
}

// Restarts have an end.
func TestM1_RestartsEnd(t *testing.T) {
	t.Parallel() // it mostly waits
	w := new(warnings)
	lab := as(t, "lab", "lab")
	s := ready(t, Options{Servers: []Server{lab}, Warn: w.add})
	for range 2 + maxRestarts {
		run(t.Context(), t, s, "mcp__lab__die", `{}`, tool.Call{})
	}
	if o := run(t.Context(), t, s, "mcp__lab__look", `{}`, tool.Call{}); !strings.Contains(o.Model.Text(),
		"it was started 4 times and is not started again") {
		t.Errorf("the result is %q", o.Model.Text())
	}
	if st := s.Status()[0]; st.State != Failed {
		t.Errorf("the state is %s", st.State)
	}
}

// pins keeps what servers say in memory.
type pins struct {
	mu   sync.Mutex
	keep map[string]map[string]string
	err  error
}

func (p *pins) Load(server string) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keep[server], p.err
}

func (p *pins) Save(server string, hashes map[string]string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep[server] = hashes
	return nil
}

// A server that describes a tool otherwise than the last time is told of, once.
func TestM12_ChangedDefinitions(t *testing.T) {
	t.Parallel()
	p := &pins{keep: map[string]map[string]string{}}
	for i, want := range []int{0, 0, 1, 0} {
		w := new(warnings)
		s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Pins: p, Warn: w.add})
		if len(w.errs) != want {
			t.Errorf("start %d: %s", i, w.all())
		}
		var changed *ChangedError
		if want == 1 && (!errors.As(w.errs[0], &changed) || len(changed.Tools) != 1 ||
			changed.Tools[0].Name != "mcp__lab__look") {
			t.Errorf("start %d: %v", i, w.errs)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if i == 1 {
			p.keep["lab"]["look"] = "another hash"
		}
	}
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Pins: p})
	// since the start before the last
	if s.Changed("mcp__lab__measure") != "" || s.Changed("mcp__lab__x") != "" || s.Changed("mcp__lab__look") == "" {
		t.Error("it is not remembered which tool has changed")
	}
	s.Accept("mcp__lab__look", "as it was before that")
	if s.Changed("mcp__lab__look") == "" {
		t.Error("another definition was accepted")
	}
	s.Accept("mcp__lab__look", s.Changed("mcp__lab__look"))
	if s.Changed("mcp__lab__look") != "" ||
		ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Pins: p}).Changed("mcp__lab__look") != "" {
		t.Error("a tool that was accepted counts as changed")
	}
	p.err = errors.New("the disk is gone")
	w := new(warnings)
	ready(t, Options{Servers: []Server{as(t, "lab", "lab")}, Pins: p, Warn: w.add})
	if !strings.Contains(w.all(), "the disk is gone") {
		t.Errorf("the warnings are %s", w.all())
	}
}

// A server does not make a change unnoticed by listing so many other tools that the first are
// forgotten.
func TestM12_ForgottenDefinitions(t *testing.T) {
	p := &pins{keep: map[string]map[string]string{}}
	one := &server{Server: Server{Name: "lab"}, owner: &Servers{o: Options{Pins: p}}}
	one.pinned(definitions{}, []offered{{name: "look", hash: "first"}})
	for i := range 4 {
		var many []offered
		for n := range maxTools {
			many = append(many, offered{name: fmt.Sprint(i, "-", n), hash: "same"})
		}
		one.pinned(definitions{}, many)
	}
	if len(p.keep["lab"]) > 3*maxTools {
		t.Errorf("%d hashes are kept", len(p.keep["lab"]))
	}
	if one.pinned(definitions{}, []offered{{name: "look", hash: "other"}}); one.changed["look"] != "other" {
		t.Error("nobody is told that the tool has changed")
	}
}

// Closing ends running calls with a result.
func TestM1_CloseDuringACall(t *testing.T) {
	s := ready(t, Options{Servers: []Server{as(t, "lab", "lab")}})
	var closing sync.WaitGroup
	o := run(t.Context(), t, s, "mcp__lab__wait", `{}`, tool.Call{Live: func(int, []byte) {
		closing.Go(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}})
	closing.Wait()
	if !o.IsError || !strings.Contains(o.Model.Text(), "was closed during the call") {
		t.Errorf("the result is %q", o.Model.Text())
	}
	if o := run(t.Context(), t, s, "mcp__lab__look", `{}`, tool.Call{}); !strings.Contains(o.Model.Text(),
		"is not running: the servers are closed") {
		t.Errorf("after that: %q", o.Model.Text())
	}
}

// FuzzM5_Lines feeds what a process prints to the connection: it returns messages until the end,
// and keeps a bounded part of the rest.
func FuzzM5_Lines(f *testing.F) {
	for _, seed := range []string{"hello\n", `{"jsonrpc":"2.0","id":1,"result":{}}`,
		`[{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}},1]`,
		`{"jsonrpc":"2.0","id":null,"result":7}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n" +
			`{"jsonrpc":"2.0","id":1,"result":`, "[[[[\xff\n\n{}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &stdio{inbox: &inbox{on: func(string, json.RawMessage) bool { return true }},
			Process: &stdioproc.Process{Out: bufio.NewReaderSize(bytes.NewReader(data), 16),
				Closed: make(chan struct{})}}
		for n := 0; ; n++ {
			m, err := c.Read(t.Context())
			if err != nil {
				break
			}
			if m == nil || n > len(data) {
				t.Fatalf("message %d is %v", n, m)
			}
			if r, ok := m.(*jsonrpc.Request); ok && len(c.inbox.open) == maxRequests { // the next one would be refused
				c.inbox.answered(r.ID)
			}
		}
	})
}

// padding holds the bytes that a tool of the server padded has besides what is used of it.
const padding = 4 << 20

// padded is a server whose list has nothing at a tool's place, and tools with much that nobody
// uses.
func padded() error {
	pad := strings.Repeat("x", padding)
	return answer(func(m *request) string {
		switch m.Method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"padded","version":"0"}}`
		case "tools/list":
			return `{"tools":[null,{"name":"meta","inputSchema":{"type":"object"},"_meta":{"x":"` + pad +
				`"},"annotations":{"title":"x","readOnlyHint":true}},` +
				`{"name":"titled","title":"` + pad +
				`","inputSchema":{"type":"object"}},{"name":"late","inputSchema":{"type":"object"}}]}`
		}
		return ""
	})
}

// What is not used of a list takes no memory, and what is used counts for its limit.
func TestM5_PaddedLists(t *testing.T) {
	t.Parallel()
	w := new(warnings)
	one := as(t, "padded", "padded")
	s := ready(t, Options{Servers: []Server{one}, Warn: w.add})
	if n := len(s.Tools()); n != 1 || !strings.Contains(w.all(), "4 MiB of definitions; the first 1 tools are used") {
		t.Errorf("there are %d tools; the warnings are %s", n, w.all())
	}
	c, err := s.list[0].connected(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.list[0].fetch(t.Context(), c)
	if err != nil || len(found) != 1 || len(must(json.Marshal(found))) > 1<<10 || !found[0].Annotations.ReadOnlyHint {
		t.Errorf("%d tools are kept in %d bytes, %v", len(found), len(must(json.Marshal(found))), err)
	}
}

// tasks is a server whose list of tools that run only as tasks does not end.
func tasks() error {
	page := 0
	return answer(func(m *request) string {
		switch m.Method {
		case "initialize":
			return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tasks","version":"0"}}`
		case "tools/list":
			page++
			var b strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&b, `{"name":"t%d-%d","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},`, page, i)
			}
			return `{"tools":[` + strings.TrimSuffix(b.String(), ",") + `],"nextCursor":"` + strconv.Itoa(page) + `"}`
		}
		return ""
	})
}

// Tools that are left out count for the limits of a list as well.
func TestM5_EndlessTasks(t *testing.T) {
	t.Parallel()
	w := new(warnings)
	s := ready(t, Options{Servers: []Server{as(t, "tasks", "tasks")}, Warn: w.add})
	if n := len(s.Tools()); n != 0 || !strings.Contains(w.all(), "more than 5000 tools") {
		t.Errorf("there are %d tools; the warnings are %s", n, w.all())
	}
}

// A server that closes its output and goes on running has ended: the call does not wait for its
// time to be over, and the next one starts the server again. Tools that need tasks are left out.
func TestM5_MuteServer(t *testing.T) {
	t.Parallel() // it mostly waits
	w := new(warnings)
	one := as(t, "mute", "mute")
	one.CallTimeout = time.Hour
	s := ready(t, Options{Servers: []Server{one}, Warn: w.add})
	if n := len(s.Tools()); n != 2 ||
		!strings.Contains(w.all(),
			"the tools research of the MCP server mute are left out, because they run only as tasks") {
		t.Errorf("there are %d tools; the warnings are %s", n, w.all())
	}
	for range 2 {
		o := run(t.Context(), t, s, "mcp__mute__hush", `{}`, tool.Call{})
		if !strings.Contains(o.Model.Text(),
			"ended during the call, which may have had effects: it closed its output and went on running") {
			t.Errorf("the result is %q", o.Model.Text())
		}
	}
}
