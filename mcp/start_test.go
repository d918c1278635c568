package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
)

// tenth is a server among ten.
type tenth struct {
	takes    time.Duration // to answer the first request; negative means forever
	required bool
	timeout  time.Duration
	stops    bool // it answers nothing after the beginning of the connection
}

// begun holds the outcome of beginning a session with ten servers.
type begun struct {
	after time.Duration // from the start of the servers to the first model call, or to the error
	err   error
	tools int // of the first request

	starting []string // after the wait
}

// beginWith starts ten remote servers and then a session, as hosts do, which may wait for servers.
// Time passes only where something waits.
func beginWith(t *testing.T, wait time.Duration, servers func(i int) tenth) (b begun) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		one := sdk.NewServer(&sdk.Implementation{Name: "one", Version: "1"}, nil)
		sdk.AddTool(one, &sdk.Tool{Name: "look"}, func(context.Context, *sdk.CallToolRequest,
			nothing) (*sdk.CallToolResult, any, error) {
			return said("seen"), nil, nil
		})
		speak := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one },
			&sdk.StreamableHTTPOptions{JSONResponse: true, DisableLocalhostProtection: true})
		t.Cleanup(func() {
			for session := range one.Sessions() {
				_ = session.Close() // it may have ended
			}
		})
		var list []Server
		clients := map[string]*http.Client{}
		for i := range 10 {
			c := servers(i)
			name := fmt.Sprint("s", i)
			list = append(list, Server{Name: name, URL: "http://127.0.0.1/mcp", Required: c.required,
				StartTimeout: c.timeout})
			begins, over := make(chan struct{}), make(chan struct{})
			if c.takes >= 0 {
				timer := time.AfterFunc(c.takes, func() { close(begins) })
				t.Cleanup(func() { timer.Stop() })
			}
			clients[name] = llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body) // what is missing is no message
				if r.Body = io.NopCloser(bytes.NewReader(body)); c.stops &&
					!bytes.Contains(body, []byte(`"initialize"`)) &&
					!bytes.Contains(body, []byte(`"server/discover"`)) {
					<-over
					return
				}
				select {
				case <-begins:
					speak.ServeHTTP(w, r)
				case <-over:
				}
			}))
			t.Cleanup(func() { close(over) })
		}
		began := time.Now()
		s := start(t, Options{Servers: list, HTTP: func(s Server) (*http.Client, error) {
			return clients[s.Name],
				nil
		}})
		if b.err = s.Ready(t.Context()); b.err != nil {
			b.after = time.Since(began)
			return
		}
		if wait > 0 {
			b.starting = s.Await(t.Context(), wait)
		}
		model := llmtest.NewProvider("test", llmtest.Text("done"))
		session, err := agent.New(t.Context(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}},
			Env: local(t), System: "You are a test.",
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: s.Tools()}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Join(session)()
		_, err = session.Submit(t.Context(), "hello")
		b.after = time.Since(began)
		if err := errors.Join(err, session.Close()); err != nil {
			t.Fatal(err)
		}
		b.tools = len(model.Requests()[0].Tools)
	})
	return b
}

// One server of ten hangs. If it is required, the session ends after its start timeout; otherwise
// nothing waits for it.
func TestM2_TenServersOfWhichOneHangs(t *testing.T) {
	const hangs = 3
	for name, c := range map[string]struct {
		servers func(i int) tenth
		want    begun
	}{
		"nobody waits for an optional one": {func(i int) tenth {
			return tenth{takes: map[bool]time.Duration{true: -1}[i == hangs], timeout: time.Hour}
		}, begun{}},
		"nor for slow optional ones": {func(int) tenth { return tenth{takes: time.Minute, timeout: time.Hour} },
			begun{}},
		"required ones start side by side": {func(i int) tenth {
			if i == hangs {
				return tenth{takes: -1, timeout: time.Hour}
			}
			return tenth{takes: 5 * time.Second, required: true, timeout: time.Minute}
		}, begun{after: 5 * time.Second, tools: 9}},
		"a required one has its start timeout": {func(i int) tenth {
			return tenth{takes: map[bool]time.Duration{true: -1}[i == hangs], required: true,
				timeout: map[bool]time.Duration{true: 7 * time.Second, false: time.Hour}[i == hangs]}
		}, begun{after: 7 * time.Second, err: errors.New("the required MCP server s3: it did not start within 7s")}},
		"also if it has begun to answer": {func(i int) tenth {
			return tenth{stops: i == hangs, required: true,
				timeout: map[bool]time.Duration{true: 7 * time.Second, false: time.Hour}[i == hangs]}
		}, begun{after: 7 * time.Second, err: errors.New("the required MCP server s3: it did not start within 7s")}},
	} {
		t.Run(name, func(t *testing.T) {
			got := beginWith(t, 0, c.servers)
			if got.after != c.want.after || c.want.err == nil && got.tools < c.want.tools ||
				(got.err == nil) != (c.want.err == nil) ||
				got.err != nil && !strings.Contains(got.err.Error(), c.want.err.Error()) {
				t.Errorf("it began after %v with %d tools, %v; want %+v", got.after, got.tools, got.err, c.want)
			}
		})
	}
}

// A session without a person waits for the servers that are still starting, at most for a limit,
// and for none that has failed.
func TestU10_WaitForServers(t *testing.T) {
	for name, c := range map[string]struct {
		servers func(i int) tenth
		want    begun
	}{
		"until all have started": {func(i int) tenth {
			return tenth{takes: time.Duration(i) * time.Second, timeout: time.Hour}
		},
			begun{after: 9 * time.Second, tools: 10}},
		"not for one that has failed": {func(i int) tenth {
			if i == 3 {
				return tenth{takes: -1, timeout: 2 * time.Second}
			}
			return tenth{takes: time.Second, timeout: time.Hour}
		}, begun{after: 2 * time.Second, tools: 9}},
		"no longer than the limit": {func(i int) tenth {
			return tenth{takes: map[bool]time.Duration{true: -1, false: time.Second}[i == 3], timeout: time.Hour}
		}, begun{after: 10 * time.Second, tools: 9, starting: []string{"s3"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := beginWith(t, 10*time.Second, c.servers)
			want := c.want
			if got.after != want.after || got.tools != want.tools || got.err != nil ||
				!slices.Equal(got.starting, want.starting) {
				t.Errorf("it began with %+v, want %+v", got, want)
			}
		})
	}
}
