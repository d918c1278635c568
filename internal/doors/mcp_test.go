package doors_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// lateCloser is a closer for resources that are opened while the session runs.
type lateCloser struct {
	mu   sync.Mutex
	list []io.Closer
}

func (l *lateCloser) add(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, c)
}

func (l *lateCloser) Close() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.list {
		err = errors.Join(err, c.Close())
	}
	return err
}

// labServer returns the command of the server.
func labServer(t *testing.T) env.Command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return env.Command{Script: "exec '" + self + "'", Env: []string{role + "=mcp"}}
}

// offeredTools returns the server's tools in a request.
func offeredTools(req *llm.Request) string {
	var names []string
	for _, def := range req.Tools {
		if name, ok := strings.CutPrefix(def.Name, "mcp__lab__"); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// A server's tools come late, change and go. Results have structure and media. The server asks a person. It ends with the session.
func TestJ_MCP(t *testing.T) {
	h := newHost(t, env.LocalOptions{}, llmtest.Text("hello"), llmtest.Calls(llmtest.Call("mcp__lab__measure", nil)), llmtest.Calls(llmtest.Call("mcp__lab__book", nil)),
		llmtest.Calls(llmtest.Call("mcp__lab__calibrate", nil)), llmtest.Calls(llmtest.Call("mcp__lab__weigh", nil)), llmtest.Text("done"))
	var asked []tool.Question
	servers := new(lateCloser)
	o := h.options(t, "served")
	o.Closers = []io.Closer{servers}
	o.Questions = &agent.Questions{Answer: func(_ context.Context, q tool.Question) (tool.Answer, error) {
		asked = append(asked, q)
		return tool.Answer{Action: tool.ActionDecline}, nil
	}}
	s := h.start(t, o)
	submit(t, s, "hello", agent.ReasonCompleted)
	client, err := dial(t.Context(), h.env, "lab", labServer(t))
	if err != nil {
		t.Fatal(err)
	}
	servers.add(client)
	client.session = s
	if err := client.refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	submit(t, s, "measure it", agent.ReasonCompleted)
	for i, want := range []string{"", "measure book calibrate", "measure book calibrate", "measure book calibrate", "book calibrate weigh", "book calibrate weigh"} {
		if got := offeredTools(h.model.Requests()[i]); got != want {
			t.Errorf("request %d offers %q, want %q", i+1, got, want)
		}
	}
	ends := h.callEnds()
	if m := ends[0]; string(m.Structured) != `{"degrees":42}` || len(m.Media) != 1 || m.Media[0].MIME != "image/png" || m.Output != "42 degrees" {
		t.Errorf("the measurement is %s", mustJSON(m))
	}
	if len(asked) != 1 || asked[0].Source != "lab" || asked[0].Form == nil || ends[1].Output != "the person chose to decline" || ends[3].Output != "1 kg" {
		t.Errorf("asked %s; results %q, %q", mustJSON(asked), ends[1].Output, ends[3].Output)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.call(t.Context(), "tools/list", nil, &struct{}{}); !errors.Is(err, errGone) {
		t.Errorf("after its session the server says %v", err)
	}
}

// A server ends with the environment in which it was started, if it was not ended before.
func TestJ_MCPServerDiesWithItsEnvironment(t *testing.T) {
	e, err := env.NewLocal(t.TempDir(), env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := dial(t.Context(), e, "lab", labServer(t))
	if err := errors.Join(err, e.Close()); err != nil {
		t.Fatal(err)
	}
	if exit, err := client.process.Wait(t.Context()); err != nil || exit.Code == 0 {
		t.Errorf("the server ended as %+v, %v", exit, err)
	}
	client.busy.Wait()
}
