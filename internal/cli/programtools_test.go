//go:build unix

package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A program brings tools of its own, is asked about their calls as about others, and runs them.
func TestX11_ToolsOfTheProgram(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("look_up", map[string]any{"id": "7"})),
		say("", use("deploy", map[string]any{"where": "production"})),
		say("", use("deploy", map[string]any{"where": "stage"})),
		say("Deployed."), say("", use("look_up", map[string]any{"id": "8"})), say("I see."))
	h := newHome(t, url)
	lookUp := map[string]any{"name": "look_up", "description": "Looks up a ticket.", "read_only": true,
		"parameters": map[string]any{"type": "object",
			"properties": map[string]any{"id": map[string]any{"type": "string"}}}}
	deploy := map[string]any{"name": "deploy", "description": "Deploys."}
	p := h.converse()
	tools := func(list ...any) gotEvent {
		p.Helper()
		p.say("tools", map[string]any{"tools": list})
		return p.next("REPLY")
	}
	if r := tools(map[string]any{"name": "shell", "description": "Mine."}); r.OK || !strings.Contains(r.Error,
		"has a tool shell of its own") {
		t.Error(r.raw)
	}
	if r := tools(lookUp, deploy); !r.OK {
		t.Fatal(r.raw)
	}
	p.say("user", map[string]any{"text": "go"})
	asked := p.next("TOOL_REQUESTED")
	if asked.Tool != "look_up" || asked.Arguments["id"] != "7" {
		t.Error(asked.raw)
	}
	p.say("result", map[string]any{"ask": asked.Ask, "text": "the ticket"})
	if end := p.next("TOOL_CALL_END"); end.Output != "the ticket" {
		t.Error(end.raw)
	}
	p.say("result", map[string]any{"ask": asked.Ask, "text": "again"})
	p.say("approve", map[string]any{"ask": p.next("APPROVAL_REQUESTED").Ask, "decision": "deny"})
	p.say("approve", map[string]any{"ask": p.next("APPROVAL_REQUESTED").Ask, "decision": "allow"})
	asked = p.next("TOOL_REQUESTED")
	if asked.Tool != "deploy" || asked.Arguments["where"] != "stage" {
		t.Error(asked.raw)
	}
	p.say("result", map[string]any{"ask": asked.Ask, "text": "it is full", "is_error": true})
	p.next("PROCESSING_END")
	p.close()
	p.end(0)
	if refused := p.transcript(); strings.Count(refused, "that waits for a result") != 1 {
		t.Errorf("a second result:\n%s", refused)
	}
	if told := string(server.Requests()[3].Body); !strings.Contains(told, "it is full") ||
		!strings.Contains(told, "Looks up a ticket.") {
		t.Errorf("the model was told: %s", told)
	}

	p = h.converse("--resume", h.sessions()[0].ID)
	if r := tools(lookUp); !r.OK {
		t.Fatal(r.raw)
	}
	p.say("user", map[string]any{"text": "more"})
	p.say("result", map[string]any{"ask": p.next("TOOL_REQUESTED").Ask, "text": "another"})
	if end := p.next("PROCESSING_END"); end.Text != "I see." {
		t.Error(end.raw)
	}
	p.close()
	p.end(0)
}

// A call that the program does not answer ends with an interrupt, and with the program's input.
func TestX11_CallsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("look_up", map[string]any{})), say("", use("look_up", map[string]any{})),
		say("", use("look_up", map[string]any{})), fakellm.Turn{Text: "Without it."})
	h := newHome(t, url)
	p := h.converse("--yes")
	p.say("tools", map[string]any{"tools": []any{map[string]any{"name": "look_up", "description": "Looks up."}}})
	p.say("user", map[string]any{"text": "go"})
	p.next("TOOL_REQUESTED")
	p.say("interrupt", nil)
	if end := p.next("ASK_ENDED"); end.How != "cancelled" {
		t.Error(end.raw)
	}
	p.next("PROCESSING_END")
	p.say("user", map[string]any{"text": "once more"})
	p.next("TOOL_REQUESTED")
	p.close()
	if end := p.next("PROCESSING_END"); end.Text != "Without it." {
		t.Error(end.raw)
	}
	p.end(0)
	told := string(server.Requests()[3].Body)
	if !strings.Contains(told, "has not answered, and cannot any more") ||
		!strings.Contains(told, "its input has ended") {
		t.Errorf("the model was told: %s", told)
	}
}
