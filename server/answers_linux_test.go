package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/server"
)

// Where the server confines commands, only the owner's token lets one run outside, and no token of
// another client gets into what a session sees.
func TestW1_OutsideTheSandbox(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	w := newWorld(t, say("", use("shell", object{"command": "cat tokens.txt; echo x > .mcp.json"})), say("Done."))
	outside := filepath.Join(w.root, ".mcp.json") // which commands may not write
	if err := os.WriteFile(filepath.Join(w.root, "tokens.txt"), []byte("me "+ownersToken+" owner\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s := w.start(func(o *server.Options) { o.Sandbox = sandbox.Workspace })
	c := s.as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	asked := events.until("APPROVAL_REQUESTED")
	if asked[len(asked)-1].data["refused"] == nil {
		c.line(id, object{"type": "approve", "ask": asked[len(asked)-1].data["ask"], "decision": "allow"})
		asked = events.until("APPROVAL_REQUESTED")
	}
	last := asked[len(asked)-1].data
	if last["refused"] == nil {
		t.Fatalf("the ask: %v", last)
	}
	allow := object{"type": "approve", "ask": last["ask"], "decision": "allow"}
	if a := c.send(id, allow); a.status != 403 || a.object(t)["code"] != "forbidden" {
		t.Errorf("another token than the owner's: %d %s", a.status, a.body)
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("the command ran outside of the sandbox")
	}
	s.as(ownersToken).line(id, allow)
	all := append(asked, events.until("PROCESSING_END")...)
	if text := fmt.Sprint(all); strings.Contains(text, ownersToken) || !strings.Contains(text, "[secret token.owner]") {
		t.Errorf("the token of the owner is in what ci sees: %s", text)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error("what the owner allowed has not run:", err)
	}
}

// The approval of a plan leads to no mode beyond that of the server, also if it names none.
func TestW1_PlanStaysBelowTheGreatestMode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", use("exit_plan_mode", object{"plan": "Write a.txt."})), say("Done."))
	c := w.start(func(o *server.Options) { o.MaxMode, o.Config.Mode = permit.ModePlan, permit.ModePlan }).as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	asked := events.until("APPROVAL_REQUESTED")
	ask := asked[len(asked)-1].data["ask"]
	if a := c.send(id, object{"type": "approve", "ask": ask, "decision": "allow"}); a.status != 403 {
		t.Errorf("the approval of a plan: %d %s", a.status, a.body)
	}
	c.line(id, object{"type": "approve", "ask": ask, "decision": "deny"})
	events.until("PROCESSING_END")
	if now := c.state(id, "idle"); now["mode"] != "plan" {
		t.Errorf("the mode is %v", now["mode"])
	}
}

// An answer that an ask does not take is noted as refused, and an approval with other arguments as
// one.
func TestW1_NotesSayWhatCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("", write("a.txt", "x\n")), say("Done."))
	c := w.start().as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "go"})
	asked := events.until("APPROVAL_REQUESTED")
	ask := asked[len(asked)-1].data["ask"]
	if a := c.send(id, object{"type": "answer", "ask": ask, "text": "yes"}); a.status != 409 {
		t.Errorf("an answer to what is no question: %d %s", a.status, a.body)
	}
	c.line(id, object{"type": "approve", "ask": ask, "decision": "allow",
		"args": object{"file_path": "a.txt", "content": "y\n"}})
	again := events.until("APPROVAL_REQUESTED")
	c.line(id, object{"type": "approve", "ask": again[len(again)-1].data["ask"], "decision": "allow"})
	var refused, edited []any
	for _, e := range append(again, events.until("PROCESSING_END")...) {
		if note, is := e.data["data"].(object); is && e.data["note"] == "answered" {
			refused, edited = append(refused, note["refused"] != nil), append(edited, note["edited"] == true)
		}
	}
	if got := fmt.Sprint(refused, edited); got != "[false true false false] [false false true false]" {
		t.Errorf("the notes: %s", got)
	}
}
