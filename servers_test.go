package attractor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// serverVar is the variable that makes this binary an MCP server. Its value is an address: the
// server starts when what listens there closes the connection.
const serverVar = "HOST_TEST_SERVER"

// mill is an MCP server, which can change its tools and die.
func mill(gate string) error {
	if conn, err := net.Dial("tcp", gate); err == nil { // it is open already
		_, err = io.Copy(io.Discard, conn)
		if err = errors.Join(err, conn.Close()); err != nil {
			return err
		}
	}
	type nothing struct{}
	s := sdk.NewServer(&sdk.Implementation{Name: "mill", Version: "1"}, nil)
	add := func(name string, run func() string) {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult,
			any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: run()}}}, nil, nil
		})
	}
	told := make(chan struct{}, 10)
	s.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, req)
			if method == "notifications/tools/list_changed" {
				told <- struct{}{}
			}
			return result, err
		}
	})
	sdk.AddTool(s, &sdk.Tool{Name: "look", Description: os.Getenv("GIVEN_TOKEN"),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "a mill"}}}, nil, nil
		})
	ground := 0
	add("grind", func() string { ground++; return fmt.Sprintf("ground %d in %d", ground, os.Getpid()) })
	add("retool", func() string {
		s.RemoveTools("grind")
		add("sieve", func() string { return "sieved" })
		<-told
		return "retooled"
	})
	add("break", func() string { os.Exit(7); return "" })
	return s.Run(context.Background(), &sdk.StdioTransport{})
}

// gate lets servers wait for their start.
type gate struct {
	net.Listener
	waiting chan net.Conn
}

// newServerGate returns a gate, which is closed at the end of the test.
func newServerGate(t *testing.T) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{l, make(chan net.Conn, 10)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.waiting <- conn
		}
	}()
	t.Cleanup(func() { _ = l.Close() }) // it may be closed
	return g
}

// open lets n servers start, when they have come.
func (g *gate) open(t *testing.T, n int) {
	t.Helper()
	var all []net.Conn
	for range n {
		select {
		case conn := <-g.waiting:
			all = append(all, conn)
		case <-t.Context().Done():
			t.Fatal("the servers do not come")
		}
	}
	err := g.Close()
	for _, conn := range all {
		err = errors.Join(err, conn.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// mills writes a file of servers, by their names and gates, and returns its name.
func (b *bench) mills(servers map[string]string) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	all := object{}
	for name, gate := range servers {
		all[name] = object{"command": self, "env": object{serverVar: gate, "GOCOVERDIR": b.TempDir()},
			"required": gate == open, "startTimeout": 3_600_000}
	}
	data, err := json.Marshal(object{"mcpServers": all})
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "mcp.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

// open is the address of a gate that is open.
const open = "127.0.0.1:1"

// metered makes the requests go through a meter.
func (b *bench) metered() *llmtest.Meter {
	meter := llmtest.NewMeter(b.server)
	web := httptest.NewServer(meter)
	b.Cleanup(web.Close)
	b.url = web.URL
	return meter
}

// changesBesidesTools returns how requests differ from those before them, apart from their tools.
func (b *bench) changesBesidesTools() []string {
	b.Helper()
	meter := llmtest.NewMeter(http.NotFoundHandler())
	for _, r := range b.server.Requests() {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(r.Body, &body); err != nil {
			b.Fatal(err)
		}
		delete(body, "tools")
		data, err := json.Marshal(body)
		if err != nil {
			b.Fatal(err)
		}
		meter.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(data)))
	}
	return meter.Breaks()
}

// joined waits until a session has tools, and returns how many changes of it that took.
func (b *bench) joined(id string, tools ...string) (changes int) {
	b.Helper()
	missing := map[string]bool{}
	for _, name := range tools {
		missing[name] = true
	}
	// after the first record, which has those of the beginning
	for rec, err := range b.store.Follow(b.Context(), id, 2) {
		if err != nil {
			b.Fatal(err)
		}
		news := false
		for name := range missing {
			if bytes.Contains(rec.Data, []byte(`"`+name+`"`)) {
				delete(missing, name)
				news = true
			}
		}
		if news {
			changes++
		}
		if len(missing) == 0 {
			return changes
		}
	}
	b.Fatal("the journal ends")
	return 0
}

// offers reports whether the tools of a request have a name.
func (b *bench) offers(request int, name string) bool {
	var body struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(b.server.Requests()[request].Body, &body); err != nil {
		b.Fatal(err)
	}
	for _, t := range body.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// In a session, two servers arrive late, one of them changes its list, and the other one dies and
// comes back. The first two change the beginning of the requests, once each. The death does not,
// and nothing else of what was sent ever changes.
func TestM2_EpochsOfASession(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "hello"}, fakellm.Turn{Text: "again"},
		calls(t, "mcp__one__grind", object{}), fakellm.Turn{Text: "ground"},
		calls(t, "mcp__two__retool", object{}), calls(t, "mcp__two__sieve", object{}), fakellm.Turn{Text: "sieved"},
		calls(t, "mcp__one__break", object{}), calls(t, "mcp__one__grind", object{}),
		fakellm.Turn{Text: "ground again"})
	meter, late := b.metered(), newServerGate(t)
	c := b.config()
	c.MCP = []string{b.mills(map[string]string{"here": open, "one": late.Addr().String(), "two": late.Addr().String()})}
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(errors.Join(err, setup.Close()))
	}
	submit := func(task, want string, breaks int) {
		t.Helper()
		if result, err := session.Submit(t.Context(), task); err != nil || result.Reason != agent.ReasonCompleted ||
			!strings.Contains(b.lastResults(), want) {
			t.Fatalf("%s: %+v, %v, results %s", task, result, err, b.lastResults())
		}
		if got := meter.Breaks(); len(got) != breaks {
			t.Errorf("after %q, %d of %d requests begin differently, want %d: %q", task, len(got), meter.Requests(),
				breaks, got)
		}
	}
	submit("hello", "", 0)
	submit("are they there?", "", 0)
	late.open(t, 2)
	// two where the first are not waited for any longer just between them
	if n := b.joined(session.ID(), "mcp__one__grind", "mcp__two__grind"); n != 1 && n != 2 {
		t.Errorf("the late servers have changed the session %d times", n)
	}
	submit("grind", "ground 1 in ", 1)
	submit("sieve", "sieved", 2)
	submit("break", "exit code 7", 2)
	if !strings.Contains(b.lastResults(), "ground 1 in ") || strings.Count(b.lastResults(), "ground 1 in ") != 2 {
		t.Errorf("the server that died was not started again: %s", b.lastResults())
	}
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	if b.offers(1, "mcp__one__grind") || !b.offers(1, "mcp__here__grind") || !b.offers(2, "mcp__one__grind") ||
		b.offers(5, "mcp__two__grind") || !b.offers(5, "mcp__two__sieve") {
		t.Error("the tools are not those of the servers")
	}
	if changes := b.changesBesidesTools(); changes != nil {
		t.Errorf("more than the tools changed: %q", changes)
	}
}

// Subagents share the session's servers, which are started once, and their calls are asked about
// like the session's own.
func TestM1_SubagentsShareServers(t *testing.T) {
	b := newBench(t)
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		turns := []fakellm.Turn{calls(t, "mcp__here__grind", object{}),
			calls(t, "spawn_agent", object{"task": "the subtask"}), calls(t, "wait", object{"agent_id": "agent-1"}),
			calls(t, "mcp__here__grind", object{}), {Text: "done"}}
		for _, m := range r.Messages {
			if m.Parts.Text() == "the subtask" {
				turns = []fakellm.Turn{calls(t, "mcp__here__grind", object{}), {Text: "done"}}
			}
		}
		return turns[min(r.Turn(), len(turns)-1)]
	}, fakellm.Options{}))
	t.Cleanup(web.Close)
	b.url = web.URL
	var asked []string
	c := b.asking(func(_ context.Context, q permit.Question) (permit.Answer, error) {
		if strings.HasPrefix(q.Call.Name, "mcp__") {
			asked = append(asked, q.AgentID)
		}
		return permit.Answer{Verdict: tool.Allow}, nil
	})
	c.MCP = []string{b.mills(map[string]string{"here": open})}
	var ground []string
	b.submit(c, "grind", func(o *agent.Options) {
		o.OnEvent = func(ev agent.Event) {
			if sub, ok := ev.(*agent.SubagentEvent); ok {
				ev = sub.Event
			}
			if end, ok := ev.(*agent.ToolCallEnd); ok && strings.HasPrefix(end.Output, "ground") {
				ground = append(ground, end.Output)
			}
		}
	})
	if len(ground) != 3 || len(asked) != 3 || asked[0] != "" || asked[1] == "" || asked[2] != "" {
		t.Fatalf("results %q; asked for the agents %q", ground, asked)
	}
	pid := strings.TrimPrefix(ground[0], "ground 1 in ")
	for i, text := range ground {
		if text != fmt.Sprintf("ground %d in %s", i+1, pid) {
			t.Errorf("result %d is %q", i, text)
		}
	}
}

// A session that waits for servers has the tools of one that starts late in its first request.
func TestU10_FirstRequestHasTheTools(t *testing.T) {
	b, late := newBench(t, fakellm.Turn{Text: "hello"}), newServerGate(t)
	c := b.config()
	c.MCP, c.MCPWait = []string{b.mills(map[string]string{"one": late.Addr().String()})}, time.Hour
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	var session *agent.Session
	go func() {
		var err error
		session, err = setup.Start(t.Context())
		started <- err
	}()
	late.open(t, 1)
	if err := <-started; err != nil {
		t.Fatal(errors.Join(err, setup.Close()))
	}
	_, err = session.Submit(t.Context(), "hello")
	if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
		t.Fatal(err)
	}
	if !b.offers(0, "mcp__one__grind") {
		t.Error("the first request lacks the tools of the server")
	}
}

// The end of the context ends the wait.
func TestU10_WaitEndsWithTheContext(t *testing.T) {
	b, late := newBench(t), newServerGate(t)
	c := b.config()
	c.MCP, c.MCPWait = []string{b.mills(map[string]string{"one": late.Addr().String()})}, time.Hour
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := setup.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the session begins: %v", err)
	}
	if err := setup.Close(); err != nil {
		t.Error(err)
	}
}
