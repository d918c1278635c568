package server_test

import (
	"fmt"
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
	if shown["mode"] != "ask" || shown["sandbox"] != "workspace" || shown["budget_usd"] != 2.0 || shown["budget_tokens"] != 500.0 {
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
	legal, lost := c.watch("/v1/sessions/"+id+"/events?after="+last), c.watch("/v1/sessions/"+id+"/events?after=9999999999")
	c.line(id, object{"type": "user", "text": "go"})
	legal.until("PROCESSING_END")
	if e := await.Receive(t, "the end of the stream", lost.events); e.data != nil {
		t.Errorf("%s %s comes behind an event that there is not", e.id, e.kind())
	}
}
