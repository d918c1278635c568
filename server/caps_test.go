package server_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/server"
)

// The rounds and turns that the server chooses are the most that a session can set.
func TestW1_RoundsAndTurnsAreCapped(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, func(r *fakellm.Request) fakellm.Turn {
		return say("", write(fmt.Sprintf("%d.txt", r.Turn()), "x\n"))
	})
	c := w.start(full, func(o *server.Options) {
		o.Config.Set("max_rounds", "--max-rounds", "2")
		o.Config.Set("max_turns", "--max-turns", "9")
	}).as(ciToken)
	id := c.create(object{})
	for _, line := range []string{`"max_rounds":0`, `"max_rounds":3`, `"max_turns":0`, `"max_turns":10`} {
		c.refused(403, "forbidden", "POST", "/v1/sessions/"+id+"/lines", `{"type":"set",`+line+`}`)
	}
	c.line(id, object{"type": "set", "max_rounds": 2, "max_turns": 8})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	end := events.until("PROCESSING_END")
	if last := end[len(end)-1].data; last["reason"] != "max_tool_rounds" || last["tool_rounds"] != 2.0 {
		t.Errorf("the end: %v", last)
	}
}

// A session from a server that allowed more is shown as it is now.
func TestW1_SessionsShowWhatHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.start(full)
	id := s.as(ciToken).create(object{"budget_tokens": 900})
	s.end()
	c := w.start(func(o *server.Options) {
		o.MaxMode, o.Sandbox, o.Config.Budget.USD, o.Config.Budget.Tokens = permit.ModeAsk, sandbox.Workspace, 2, 500
	}).as(ciToken)
	shown := c.request("GET", "/v1/sessions/"+id, "").object(t)
	if shown["mode"] != "ask" || shown["sandbox"] != "workspace" || shown["budget_usd"] != 2.0 ||
		shown["budget_tokens"] != 500.0 {
		t.Errorf("the session: %v", shown)
	}
}

// A model of a provider for which the server has no key is a fault of the request, not of the
// server.
func TestW1_NoKeyIsInvalid(t *testing.T) {
	t.Parallel()
	c := newWorld(t).start().as(ciToken)
	why := c.refused(400, "invalid", "POST", "/v1/sessions", `{"model":"openai/gpt-5.5"}`)
	if !strings.Contains(why, "OPENAI_API_KEY") {
		t.Error(why)
	}
}

// What is wrong with a request is said in the words of the API, and is a fault of the request.
func TestW1_WrongBodies(t *testing.T) {
	t.Parallel()
	c := newWorld(t).start().as(ciToken)
	lines := "/v1/sessions/" + c.create(object{}) + "/lines"
	for _, tt := range []struct{ path, body, want string }{
		{"", `{"dir":5}`, "dir must be a string, not a JSON number; /openapi.json has what it can be"},
		{"", `{"budget_usd":"2"}`, "budget_usd must be a number, not a JSON string; "},
		{"", `{"budget_tokens":1.5}`, "budget_tokens must be a whole number, not a JSON number 1.5; "},
		{"", `[]`, "the body must be an object, not a JSON array; "},
		{"", `{"direc":"x"}`, `the body: unknown field "direc"; `},
		{"", `{`, "the body ends too early; "},
		{"", `dir=x`, "the body is not JSON: invalid character 'd'"},
		{"", `{"model":"sonnet"}`, `unknown provider "sonnet" (a model is named as provider/model); `},
		{"", `{"mode":"bold"}`, `there is no mode "bold"; the modes are read-only, ask, accept-edits, plan, full`},
		{"", `{"model":"anthropic/unheard-of","budget_usd":2}`, "budget_usd cannot be counted"},
		{lines, `{"type":"user","images":[{"media_type":"image/png","data":"!"}]}`,
			"images[0]: the image is not in Base64"},
	} {
		if why := c.refused(400, "invalid", "POST", cmp.Or(tt.path, "/v1/sessions"), tt.body); !strings.HasPrefix(why,
			tt.want) {
			t.Errorf("%s: %s, want %s", tt.body, why, tt.want)
		}
	}
}

// A root that is no directory would be one in which no session can work.
func TestW1_RootThatIsAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	o.Roots = []string{filepath.Join(w.root, "file")}
	if err := os.WriteFile(o.Roots[0], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "file is no directory") {
		t.Errorf("the error: %v", err)
	}
}

// A stream behind an event that there is not would be silent for ever, so it is refused, and cut
// off when the session opens.
func TestW1_EventsOfTheFuture(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Done."))
	s := w.start()
	c := s.as(ciToken)
	id := c.create(object{})
	for _, at := range []string{"9999999999", "9999999999.1"} {
		c.refused(400, "invalid", "GET", "/v1/sessions/"+id+"/events?after="+at, "")
	}
	last := fmt.Sprint(c.request("GET", "/v1/sessions/"+id, "").object(t)["last_event"])
	c.watch("/v1/sessions/" + id + "/events?after=" + last)
	s.end()

	c = w.start().as(ciToken)
	legal, lost := c.watch("/v1/sessions/"+id+"/events?after="+last),
		c.watch("/v1/sessions/"+id+"/events?after=9999999999")
	c.line(id, object{"type": "user", "text": "go"})
	legal.until("PROCESSING_END")
	if e := await.Receive(t, "the end of the stream", lost.events); e.data != nil {
		t.Errorf("%s %s comes behind an event that there is not", e.id, e.kind())
	}
}
