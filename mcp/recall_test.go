package mcp

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"reflect"
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
	"github.com/attractor-go/attractor/tool"
)

// lastStart is a host that starts one server several times.
type lastStart struct {
	t     *testing.T
	o     Options
	told  *warnings
	tools []string // of the server
	about string   // in the descriptions
}

// allAccepted returns pins without what has changed.
func allAccepted(pinned map[string]string) map[string]string {
	pinned = maps.Clone(pinned)
	maps.DeleteFunc(pinned, func(name, _ string) bool { return strings.HasPrefix(name, pinChanged) })
	return pinned
}

// again starts the server anew. It answers after a time; negative means never.
func (l *lastStart) again(takes time.Duration) *Servers {
	l.t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "lab", Version: "1"},
		&sdk.ServerOptions{Instructions: "Look before you leap."})
	for _, name := range l.tools {
		sdk.AddTool(server, &sdk.Tool{Name: name, Description: "Does " + name + "." + l.about},
			func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
				return said("seen"), nil, nil
			})
	}
	l.t.Cleanup(func() {
		for session := range server.Sessions() {
			_ = session.Close() // it may have ended
		}
	})
	speak := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{JSONResponse: true, DisableLocalhostProtection: true})
	begins, over := make(chan struct{}), make(chan struct{})
	if takes >= 0 {
		timer := time.AfterFunc(takes, func() { close(begins) })
		l.t.Cleanup(func() { timer.Stop() })
	}
	client := llmtest.PipeClient(l.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-begins:
			speak.ServeHTTP(w, r)
		case <-over:
		}
	}))
	l.t.Cleanup(func() { close(over) }) // before the client waits for its requests
	o := l.o
	o.HTTP = func(Server) (*http.Client, error) { return client, nil }
	l.told = new(warnings)
	o.Warn = l.told.add
	return start(l.t, o)
}

// toolNamesOf returns the names of tools in sessions, without the server.
func toolNamesOf(s *Servers) []string {
	var list []string
	for _, t := range s.Tools() {
		list = append(list, strings.TrimPrefix(t.Name, "mcp__lab__"))
	}
	return list
}

// A session has the tools that a server had when it was last used before the server has started,
// and calls wait for it. Nothing changes if it then lists the same; other tools take their place.
func TestU10_ToolsOfTheLastStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lastStart{t: t, tools: []string{"look"}}
		l.o = Options{
			Servers: []Server{{Name: "lab", URL: "http://127.0.0.1/mcp", StartTimeout: time.Minute}},
			Pins:    &pins{keep: map[string]map[string]string{}},
		}
		first := l.again(time.Second)
		if got := toolNamesOf(first); got != nil {
			t.Errorf("at the first start there are %q", got)
		}
		if left := first.Await(t.Context(), time.Minute); left != nil {
			t.Errorf("%q have not started", left)
		}
		if err := first.Close(); err != nil {
			t.Error(err)
		}

		began := time.Now()
		second := l.again(5 * time.Second)
		if tools := second.Tools(); len(tools) != 1 || !strings.Contains(tools[0].Guidance, "before you leap") {
			t.Errorf("at the second start there are %+v", tools)
		}
		if left := second.Await(t.Context(), time.Minute); left != nil || time.Since(began) != 0 {
			t.Errorf("%q were waited for, for %v", left, time.Since(began))
		}
		model := llmtest.NewProvider("test", llmtest.Calls(llmtest.Call("mcp__lab__look", nothing{})),
			llmtest.Text("done"))
		session, err := agent.New(t.Context(), agent.Options{
			Client: &llm.Client{Providers: []llm.Provider{model}}, Env: local(t), System: "You are a test.",
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Tools: second.Tools()},
		})
		if err != nil {
			t.Fatal(err)
		}
		leave := second.Join(session)
		result, err := session.Submit(t.Context(), "look")
		if err != nil || result.Text != "done" || time.Since(began) != 5*time.Second {
			t.Errorf("%+v after %v, %v", result, time.Since(began), err)
		}
		requests := model.Requests()
		for _, req := range requests {
			if len(req.Tools) != 1 || !reflect.DeepEqual(req.Tools, requests[0].Tools) ||
				!reflect.DeepEqual(req.Messages[0], requests[0].Messages[0]) {
				t.Errorf("the tools are %+v, and the first message is %+v", req.Tools, req.Messages[0])
			}
		}
		if len(requests) != 2 {
			t.Errorf("%d requests", len(requests))
		}
		leave()
		if err := errors.Join(session.Close(), second.Close()); err != nil {
			t.Error(err)
		}

		l.tools = []string{"look", "listen"}
		third := l.again(time.Second)
		if got := toolNamesOf(third); !slices.Equal(got, []string{"look"}) {
			t.Errorf("at the third start there are %q", got)
		}
		<-third.list[0].first
		if got := toolNamesOf(third); !slices.Equal(got, []string{"listen", "look"}) {
			t.Errorf("then there are %q", got)
		}
		if err := third.Close(); err != nil {
			t.Error(err)
		}

		fourth := l.again(-1)
		if got := toolNamesOf(fourth); len(got) != 2 {
			t.Errorf("at the fourth start there are %q", got)
		}
		<-fourth.list[0].first
		if got := toolNamesOf(fourth); got != nil || !strings.Contains(l.told.all(), "its tools are missing") {
			t.Errorf("of a server that did not start there are %q: %s", got, l.told.all())
		}
		if err := fourth.Close(); err != nil {
			t.Error(err)
		}

		l.about = " And more."
		fifth := l.again(time.Second)
		late, err := toolNamed(t, fifth, "mcp__lab__look").Run(t.Context(), &tool.Call{Env: local(t), Args: "{}"})
		if text := late.Content.Text(); err != nil || !late.IsError || !strings.Contains(text, "did not run") {
			t.Errorf("a call that was made of the tool as it was: %q, %v", text, err)
		}
		if err := fifth.Close(); err != nil {
			t.Error(err)
		}
		if got := toolNamesOf(l.again(time.Second)); got != nil {
			t.Errorf("what has changed and was not accepted is offered: %q", got)
		}
		pinned := allAccepted(l.o.Pins.(*pins).keep["lab"])
		pinned[pinDefinitions] = strings.Replace(pinned[pinDefinitions], "Does look.", "Run rm.", 1)
		l.o.Pins.(*pins).keep["lab"] = pinned
		if got := toolNamesOf(l.again(time.Second)); got != nil {
			t.Errorf("what is not pinned is offered: %q", got)
		}
	})
}

// A server that had no tools when it was last used is waited for, as it may have some now.
func TestU10_NoToolsAtTheLastStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lastStart{t: t}
		l.o = Options{
			Servers: []Server{{Name: "lab", URL: "http://127.0.0.1/mcp", StartTimeout: time.Minute}},
			Pins:    &pins{keep: map[string]map[string]string{}},
		}
		first := l.again(0)
		<-first.list[0].first
		if err := first.Close(); err != nil {
			t.Error(err)
		}
		l.tools = []string{"look"}
		second := l.again(time.Second)
		if left := second.Await(t.Context(), time.Minute); left != nil {
			t.Errorf("%q have not started", left)
		}
		if got := toolNamesOf(second); !slices.Equal(got, []string{"look"}) {
			t.Errorf("after the wait there are %q", got)
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
}
