package mcp

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/tool"
)

// A server that restarts forgets its sessions. The next call begins a new one and is sent again,
// because it was not begun.
func TestM1_ForgottenSession(t *testing.T) {
	p := startPlain(t)
	var forgotten atomic.Pointer[string]
	p.Before = func(w http.ResponseWriter, r *http.Request, body string) bool {
		id := r.Header.Get("Mcp-Session-Id")
		if was := forgotten.Load(); was != nil && (*was == id || *was == "all" && id != "") {
			if *was == "all" && strings.Contains(body, "tools/call") {
				forgotten.Store(&id)
			}
			http.Error(w, "session not found", http.StatusNotFound)
			return true
		}
		if strings.Contains(body, "server/discover") { // an older server, which has sessions
			http.Error(w, "what?", http.StatusBadRequest)
			return true
		}
		return false
	}
	warned := new(warnings)
	s := ready(t, Options{Servers: []Server{{Name: "plain", URL: p.URL, Required: true}}, Warn: warned.add})
	for n := range 5 { // more often than a process is started again
		all := "all"
		forgotten.Store(&all)
		o := run(t.Context(), t, s, "mcp__plain__whoami", `{}`, tool.Call{})
		if o.IsError || o.Model.Text() != "the user" {
			t.Fatalf("call %d returned %q; warnings %s", n, o.Model.Text(), warned.all())
		}
	}
	if warned.all() != "" {
		t.Errorf("the warnings are %s", warned.all())
	}
}

// A session never logs in by itself. What the user can do is in the warning and in the results.
func TestM3_SessionsDoNotLogIn(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	warned := new(warnings)
	o := Options{Servers: []Server{p.server()}, Tokens: tokens, Warn: warned.add}
	s := start(t, o)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-s.list[0].first
	const want = "the MCP server work could not be started, so its tools are missing: the MCP server work needs a " +
		"login: run attractor mcp login work"
	if warned.all() != want {
		t.Errorf("the warnings are %s", warned.all())
	}
	if _, ok := errors.AsType[*LoginError](s.Status()[0].Err); !ok {
		t.Errorf("the status is %+v", s.Status()[0])
	}
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	var told atomic.Int32
	o.Secret = func(string, string) { told.Add(1) }
	o.Servers[0].Required = true
	s = ready(t, o)
	if told.Load() == 0 {
		t.Error("the host was told no secret")
	}
	if got := run(t.Context(), t, s, "mcp__work__whoami", `{}`, tool.Call{}); got.IsError ||
		got.Model.Text() != "the user" {
		t.Errorf("the call returned %q", got.Model.Text())
	}
	asked := len(p.Issuer.Requests("/authorize"))
	p.Issuer.End()
	got := run(t.Context(), t, s, "mcp__work__whoami", `{}`, tool.Call{})
	if !got.IsError || !strings.Contains(got.Model.Text(),
		"does not accept the old one any more: run attractor mcp login work") {
		t.Errorf("after the login ended, the call returned %q", got.Model.Text())
	}
	if n := len(p.Issuer.Requests("/authorize")); n != asked {
		t.Errorf("the session began %d logins", n-asked)
	}
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	if got := run(t.Context(), t, s, "mcp__work__whoami", `{}`, tool.Call{}); got.IsError {
		t.Errorf("after a new login the call returned %q", got.Model.Text())
	}
}

// An old remote server may leave the question for new versions without an answer. It is then asked
// without it, well within the time to start.
func TestM1_RemoteServerThatIgnoresTheProbe(t *testing.T) {
	p := startPlain(t)
	p.Before = func(_ http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "server/discover") {
			return false
		}
		<-r.Context().Done()
		return true
	}
	s := ready(t, Options{Servers: []Server{{Name: "plain", URL: p.URL, Required: true,
		StartTimeout: 3 * time.Second}}})
	if o := run(t.Context(), t, s, "mcp__plain__whoami", `{}`, tool.Call{}); o.IsError || o.Model.Text() != "the user" {
		t.Errorf("the call returned %q", o.Model.Text())
	}
}
