package mcptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/mcp"
	"github.com/attractor-go/attractor/tool"
)

// slow limits waits for a server that needs Node, and for programs that talk to it: on a busy
// machine both take their time.
const slow = 2 * time.Minute

// overEach runs a test with server-everything over stdio and over streamable HTTP.
func overEach(t *testing.T, test func(*testing.T, mcp.Server)) {
	program := peer.Need(t, "mcp-server-everything")
	server := mcp.Server{Name: "all", Required: true, StartTimeout: slow}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		server := server
		server.Command = program
		test(t, server)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		server := server
		server.URL = peer.ServeEverything(t)
		test(t, server)
	})
}

// Every tool of server-everything that needs no person, once.
func TestM5_EverythingTools(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, server mcp.Server) {
		s := ready(t, mcp.Options{Servers: []mcp.Server{server}})
		for _, c := range []struct {
			tool, args string
			want       []string // in the text
			images     int
			structured string
			isError    bool
		}{
			{"echo", `{"message":"grüß dich"}`, []string{"Echo: grüß dich"}, 0, "", false},
			{"get-sum", `{"a":1.5,"b":2}`, []string{"The sum of 1.5 and 2 is 3.5."}, 0, "", false},
			{"get-sum", `{"a":"one"}`, []string{"b"}, 0, "", true},
			{"get-env", `{}`, []string{`"PATH"`}, 0, "", false},
			{"get-tiny-image", `{}`, []string{"MCP logo"}, 1, "", false},
			{"get-annotated-message", `{"messageType":"error","includeImage":true}`,
				[]string{"Error: Operation failed"}, 1, "", false},
			{"get-resource-links", `{"count":2}`,
				[]string{"[Resource demo://resource/dynamic/blob/1; Blob Resource 1; text/plain;",
					"demo://resource/dynamic/text/2"}, 0, "", false},
			{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`,
				[]string{"[Resource demo://resource/dynamic/text/1]\nResource 1: This is a plaintext resource"}, 0, "",
				false},
			{"get-resource-reference", `{"resourceType":"Blob","resourceId":1}`,
				[]string{"of the resource demo://resource/dynamic/blob/1 were left out"}, 0, "", false},
			{"get-structured-content", `{"location":"Chicago"}`, []string{"temperature"}, 0,
				`{"conditions":"Light rain / drizzle","humidity":82,"temperature":36}`, false},
			{"gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain,hello","outputType":"resourceLink"}`,
				[]string{"[Resource demo://resource/session/x.gz; x.gz; application/gzip]"}, 0, "", false},
			{"trigger-long-running-operation", `{"duration":0.01,"steps":2}`,
				[]string{"Long running operation completed"}, 0, "", false},
			{"toggle-simulated-logging", `{}`, []string{"Started simulated"}, 0, "", false},
			{"toggle-subscriber-updates", `{}`, []string{"Started simulated"}, 0, "", false},
			{"toggle-simulated-logging", `{}`, []string{"Stopped simulated"}, 0, "", false},
			{"toggle-subscriber-updates", `{}`, []string{"Stopped simulated"}, 0, "", false},
		} {
			o := call(t.Context(), t, s, "mcp__all__"+c.tool, c.args, tool.Call{})
			text := o.Model.Text()
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s says %q, want %q in it", c.tool, text, want)
				}
			}
			if len(images(o.Model)) != c.images || c.structured != "" && string(o.Structured) != c.structured ||
				o.IsError != c.isError {
				t.Errorf("%s returned %d images, structure %s, error %v: %s", c.tool, len(images(o.Model)),
					o.Structured, o.IsError, text)
			}
		}
		st := s.Status()[0]
		for _, one := range st.Tools { // the server says of most that they only read, but nobody trusts it
			if a, err := one.Access(`{}`); err != nil || a.Effect != tool.Exclusive ||
				(len(a.Hosts) > 0) != (server.URL != "") {
				t.Errorf("%s is %+v, %v", one.Name, a, err)
			}
		}
		if st.State != mcp.Connected || st.Protocol != "2025-11-25" || st.Program != "mcp-servers/everything 2.0.0" ||
			!strings.Contains(st.Instructions, "Everything Server") {
			t.Errorf("the status is %+v", st)
		}
		if n := len(s.Status()[0].Tools); n != 12 { // without simulate-research-query, which runs only as a task
			t.Errorf("there are %d tools: %s", n, names(s.Tools()))
		}
	})
}

// Questions are answered, declined, and declined at once where nobody is.
func TestM5_EverythingAsks(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, server mcp.Server) {
		s := ready(t, mcp.Options{Servers: []mcp.Server{server}, Answers: true})
		const form, address = "mcp__all__trigger-elicitation-request", "mcp__all__trigger-url-elicitation"
		ann := &user{answer: tool.Answer{Content: json.RawMessage(`{"name":"Ann","integer":7}`)}}
		if o := call(t.Context(), t, s, form, `{}`, tool.Call{Session: ann}); !strings.Contains(o.Model.Text(),
			"- Name: Ann\n- Favorite Integer: 7") {
			t.Errorf("the answer arrived as %q", o.Model.Text())
		}
		if q := ann.asked[0]; q.Source != "MCP server all" || !q.Now || !strings.Contains(string(q.Form),
			`"Your full, legal name"`) {
			t.Errorf("asked %+v", q)
		}
		shy := &user{answer: tool.Answer{Action: tool.ActionDecline}}
		for _, session := range []tool.Session{shy, new(tool.Plain)} {
			if o := call(t.Context(), t, s, form, `{}`, tool.Call{Session: session}); !strings.Contains(o.Model.Text(),
				`"action": "decline"`) {
				t.Errorf("declined as %q", o.Model.Text())
			}
		}
		o := call(t.Context(), t, s, address, `{"url":"https://example.com/login"}`, tool.Call{Session: shy})
		if q := shy.asked[len(shy.asked)-1]; !strings.Contains(q.Text, "https://example.com/login") ||
			!strings.Contains(o.Model.Text(), "declined to open the URL") {
			t.Errorf("asked %+v, and it says %q", q, o.Model.Text())
		}
		// The server refuses the call until another address is open.
		refused := `{"url":"https://example.com/login","errorPath":true}`
		if o := call(t.Context(), t, s, address, refused, tool.Call{Session: new(tool.Plain)}); !o.IsError ||
			!strings.Contains(o.Model.Text(), "-32042") {
			t.Errorf("with nobody there it says %q", o.Model.Text())
		}
		call(t.Context(), t, s, address, refused, tool.Call{Session: shy}) // the server takes this one for the next try
		opens := &user{answer: tool.Answer{Action: tool.ActionAccept}}
		o = call(t.Context(), t, s, address, refused, tool.Call{Session: opens})
		if len(opens.asked) != 2 || !strings.Contains(opens.asked[0].Text, "https://modelcontextprotocol.io") ||
			!strings.Contains(o.Model.Text(), "User completed") {
			t.Errorf("asked %+v, and it says %q", opens.asked, o.Model.Text())
		}
	})
}

// Progress is shown, and a cancelled call returns while the server still works. The server then
// answers the next one.
func TestM5_EverythingCancelled(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, server mcp.Server) {
		s := ready(t, mcp.Options{Servers: []mcp.Server{server}})
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		var mu sync.Mutex
		var shown []string
		o := call(ctx, t, s, "mcp__all__trigger-long-running-operation", `{"duration":600,"steps":60000}`,
			tool.Call{Live: func(_ int, p []byte) {
				mu.Lock()
				defer mu.Unlock()
				shown = append(shown, string(p))
				cancel(interrupted)
			}})
		mu.Lock()
		defer mu.Unlock()
		if len(shown) == 0 || !strings.HasSuffix(shown[0], "/60000\n") || !o.IsError {
			t.Errorf("shown %q, result %q", shown, o.Model.Text())
		}
		if o := call(t.Context(), t, s, "mcp__all__echo", `{"message":"still there"}`,
			tool.Call{}); o.Model.Text() != "Echo: still there" {
			t.Errorf("after it the server says %q", o.Model.Text())
		}
	})
}

// Resources, prompts and messages for the log.
func TestM5_EverythingElse(t *testing.T) {
	t.Parallel()
	overEach(t, func(t *testing.T, server mcp.Server) {
		lines, w := io.Pipe()
		t.Cleanup(func() { _ = w.Close() }) // never fails
		logged := make(chan string, 1)
		go func() {
			r := bufio.NewReader(lines)
			line, err := r.ReadString('\n')
			for err == nil && strings.Contains(line, `msg="mcp call"`) { // is about a request of ours
				line, err = r.ReadString('\n')
			}
			_ = lines.Close() // never fails; what comes later is dropped
			logged <- fmt.Sprint(line, err)
		}()
		s := ready(t, mcp.Options{Servers: []mcp.Server{server},
			Log: slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		const toggle = "mcp__all__toggle-simulated-logging"
		call(t.Context(), t, s, toggle, `{}`, tool.Call{})
		select {
		case line := <-logged:
			if !strings.Contains(line, "message") || !strings.Contains(line, "server=all") {
				t.Errorf("logged %q", line)
			}
		case <-time.After(slow):
			t.Error("nothing was logged")
		}
		call(t.Context(), t, s, toggle, `{}`, tool.Call{})
		if o := call(t.Context(), t, s, mcp.ListResources, `{"server":"all"}`,
			tool.Call{}); !strings.Contains(o.Model.Text(), "demo://resource/static/document/") ||
			!strings.Contains(o.Model.Text(), "template demo://resource/dynamic/text/{resourceId}") {
			t.Errorf("the resources are %s", o.Model.Text())
		}
		if o := call(t.Context(), t, s, mcp.ReadResource, `{"server":"all","uri":"demo://resource/dynamic/text/3"}`,
			tool.Call{}); !strings.Contains(o.Model.Text(), "Resource 3: This is a plaintext") {
			t.Errorf("the resource is %s", o.Model.Text())
		}
		if o := call(t.Context(), t, s, mcp.ReadResource, `{"server":"all","uri":"demo://nothing"}`,
			tool.Call{}); !o.IsError {
			t.Errorf("a resource that is not there is %s", o.Model.Text())
		}
		for _, p := range s.Prompts(t.Context()) {
			if p.Name != "mcp__all__args-prompt" {
				continue
			}
			parts, err := p.Get(t.Context(), map[string]string{"city": "Bern"})
			if err != nil || parts.Text() != "What's weather in Bern?" || !p.Arguments[0].Required {
				t.Errorf("%s = %q, %v", p.Name, parts.Text(), err)
			}
			if _, err := p.Get(t.Context(), nil); err == nil || !strings.Contains(err.Error(),
				"needs the argument city") {
				t.Errorf("without its argument: %v", err)
			}
			return
		}
		t.Error("there is no prompt with arguments")
	})
}
