//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// value returns the current value of an option in a list of options.
func value(options any, id string) string {
	list, _ := options.([]any)
	for _, o := range list {
		if at(o, "id") == id {
			return at(o, "currentValue")
		}
	}
	return ""
}

// A mode is chosen by its own method and as an option, and the other form is told. What a mode
// allows is not asked about.
func TestN1_Modes(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("", use("write_file", object{"file_path": "one", "content": "x"})), say("One."),
		say("", use("shell", object{"command": "touch two"})), say("Two."))
	h := newHome(t, url)
	e := h.newEditor()
	e.initialize()
	opened := e.call("session/new", object{"cwd": h.dir, "mcpServers": []any{}})
	session := at(opened, "sessionId")
	if at(opened, "modes", "currentModeId") != "ask" || value(opened["configOptions"], "mode") != "ask" {
		t.Errorf("a new session: %s", shown(opened))
	}
	modes, _ := opened["modes"].(object)["availableModes"].([]any)
	var ids []string
	for _, m := range modes {
		ids = append(ids, at(m, "id"))
	}
	if !slices.Equal(ids, []string{"ask", "accept-edits", "plan", "full"}) {
		t.Errorf("the modes are %q", ids)
	}
	e.call("session/set_mode", object{"sessionId": session, "modeId": "accept-edits"})
	e.await("the option", func() bool {
		return slices.ContainsFunc(e.updates, func(u object) bool {
			update := u["update"].(object)
			return value(update["configOptions"], "mode") == "accept-edits"
		})
	})
	if stop := e.prompt(session, "write"); stop != "end_turn" || len(e.asks) > 0 {
		t.Errorf("%s, asked %v", stop, e.asks)
	}
	got := e.call("session/set_config_option", object{"sessionId": session, "configId": "mode", "value": "full"})
	if value(got["configOptions"], "mode") != "full" {
		t.Errorf("the options afterwards: %s", shown(got))
	}
	if told := e.of(session, "current_mode_update"); len(told) == 0 ||
		at(told[len(told)-1], "currentModeId") != "full" {
		t.Errorf("the mode was told as %s", shown(told))
	}
	if stop := e.prompt(session, "run"); stop != "end_turn" || len(e.asks) > 0 {
		t.Errorf("%s, asked %v", stop, e.asks)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := os.Stat(filepath.Join(h.dir, name)); err != nil {
			t.Error(err)
		}
	}
	e.refuses(-32602, "", "session/set_mode", object{"sessionId": session, "modeId": "read-only"})
	e.refuses(-32602, "", "session/set_config_option",
		object{"sessionId": session, "configId": "colour", "value": "red"})
	e.refuses(-32602, "", "session/set_config_option",
		object{"sessionId": session, "configId": "mode", "type": "boolean", "value": true})
	e.end()
}

// In plan mode a change is refused. The plan is shown with the question about it, and its approval
// ends the mode, which the editor is told.
func TestN1_PlanMode(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("write_file", object{"file_path": "one", "content": "x"})),
		say("", use("exit_plan_mode", object{"plan": "# First\n\nno"})),
		say("", use("exit_plan_mode", object{"plan": "# Then\n\nWrite `one`."})),
		say("", use("write_file", object{"file_path": "one", "content": "x"})), say("Done."))
	h := newHome(t, url)
	e := h.newEditor()
	e.initialize()
	session := e.open(h.dir)
	e.call("session/set_mode", object{"sessionId": session, "modeId": "plan"})
	e.choose("reject_once", "allow_always")
	if stop := e.prompt(session, "plan it"); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	if len(e.asks) != 2 || !strings.Contains(at(e.asks[1].params, "toolCall", "content"), "Write `one`.") ||
		at(e.asks[1].params, "toolCall", "kind") != "switch_mode" {
		t.Errorf("asked: %v", e.asks)
	}
	if told := e.of(session, "current_mode_update"); len(told) == 0 ||
		at(told[len(told)-1], "currentModeId") != "accept-edits" {
		t.Errorf("the mode was told as %s", shown(told))
	}
	if _, err := os.Stat(filepath.Join(h.dir, "one")); err != nil {
		t.Error(err)
	}
	if refused := lastResults(server.Requests()[1].Messages); !strings.Contains(refused, "plan mode") {
		t.Errorf("the model reads %s", refused)
	}
	e.end()
}

// Another model and another effort count from the next request on, and a session that is loaded
// still has them.
func TestN1_ModelAndEffort(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("One."), say("Two."), say("Three."))
	h := newHome(t, url)
	e := h.newEditor()
	e.initialize()
	opened := e.call("session/new", object{"cwd": h.dir, "mcpServers": []any{}})
	session := at(opened, "sessionId")
	e.prompt(session, "one")
	was, other := value(opened["configOptions"], "model"), "anthropic/claude-opus-5-5"
	e.call("session/set_config_option", object{"sessionId": session, "configId": "model", "value": other})
	got := e.call("session/set_config_option", object{"sessionId": session, "configId": "effort", "value": "low"})
	if value(got["configOptions"], "model") != other || value(got["configOptions"], "effort") != "low" {
		t.Errorf("the options afterwards: %s", shown(got))
	}
	e.prompt(session, "two")
	e.end()

	e = h.newEditor()
	e.initialize()
	got = e.call("session/resume", h.resume(session))
	if value(got["configOptions"], "model") != other || value(got["configOptions"], "effort") != "low" {
		t.Errorf("the options after a resume: %s", shown(got))
	}
	e.prompt(session, "three")
	e.end()
	requests := server.Requests()
	if "anthropic/"+requests[0].Model != was || "anthropic/"+requests[1].Model != other ||
		"anthropic/"+requests[2].Model != other || requests[2].Effort != "low" {
		t.Errorf("the models are %s, %s and %s, the effort %s", requests[0].Model, requests[1].Model, requests[2].Model,
			requests[2].Effort)
	}
}

// Commands are told, and run by a prompt that begins with one. The todo list comes as a plan. A
// session has a title and tells its usage.
func TestN1_CommandsAndPlans(t *testing.T) {
	t.Parallel()
	steps := func(first, second string) []any {
		return []any{object{"step": "look", "status": first}, object{"step": "write", "status": second}}
	}
	url, server := serve(t, nil, say("", use("update_plan", object{"plan": steps("in_progress", "pending")})),
		say("", use("update_plan", object{"plan": steps("completed", "in_progress")})), say("Done."))
	h := newHome(t, url)
	dir := filepath.Join(h.home, ".attractor", "commands")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "check.md"),
		[]byte("---\ndescription: Checks a thing\nargument-hint: THING\n---\nPlease check $ARGUMENTS well.\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	// its profile has a todo list
	e := h.newEditorWith([]string{"OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url + "/v1"})
	e.initialize()
	session := e.open(h.dir)
	e.await("the commands", func() bool {
		return slices.ContainsFunc(e.updates, func(u object) bool {
			return strings.Contains(at(u, "update", "availableCommands"), `"name":"check"`)
		})
	})
	if told := shown(e.of(session, "available_commands_update")); !strings.Contains(told, "Checks a thing") ||
		!strings.Contains(told, "THING") {
		t.Errorf("the commands: %s", told)
	}
	e.prompt(session, "/check the door")
	if body := string(server.Requests()[0].Body); !strings.Contains(body, "Please check the door well.") {
		t.Error("the command was not run")
	}
	plans := e.of(session, "plan")
	if len(plans) != 2 || at(plans[1], "entries", "0", "status") != "completed" || at(plans[1], "entries", "1",
		"content") != "write" {
		t.Errorf("the plans: %s", shown(plans))
	}
	if info := e.of(session, "session_info_update"); len(info) == 0 || at(info[0], "title") == "" {
		t.Errorf("the title: %s", shown(info))
	}
	if usage := e.of(session, "usage_update"); len(usage) == 0 || at(usage[0], "used") == "" ||
		at(usage[0], "size") == "" {
		t.Errorf("the usage: %s", shown(usage))
	}
	e.refuses(-32602, "nothere", "session/prompt", prompt(session, "/nothere"))
	e.end()
}

// A question of the model is a form where the editor has forms, and else the next prompt answers
// it.
func TestN1_Questions(t *testing.T) {
	t.Parallel()
	turns := []fakellm.Turn{say("",
		use("ask_user", object{"question": "Which colour?", "options": []string{"red", "blue"}})), say("Fine.")}
	for name, forms := range map[string]bool{"forms": true, "texts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil, turns...)
			h := newHome(t, url)
			e := h.newEditor()
			if forms {
				e.initialize(object{"elicitation": object{"form": object{}}})
			} else {
				e.initialize()
			}
			session := e.open(h.dir)
			e.on("elicitation/create", func(a ask) {
				if !strings.Contains(at(a.params, "message"), "Which colour?") ||
					!strings.Contains(at(a.params, "requestedSchema"), "blue") {
					t.Errorf("the form: %v", a.params)
				}
				e.answer(a, object{"action": "accept", "content": object{"choice": "blue"}}, nil)
			})
			stop := e.prompt(session, "paint")
			if !forms {
				if text := e.text(session, "agent_message_chunk"); !strings.Contains(text, "Which colour?") ||
					!strings.Contains(text, "blue") {
					t.Errorf("the question as a text: %q", text)
				}
				stop = e.prompt(session, "blue")
			}
			if asked := len(e.asks) > 0; stop != "end_turn" || asked != forms {
				t.Errorf("stopped with %s, asked: %v", stop, e.asks)
			}
			requests := server.Requests()
			if len(requests) != 2 || !strings.Contains(lastResults(requests[1].Messages), "blue") {
				t.Errorf("%d requests, the last with the results %s", len(requests),
					lastResults(requests[len(requests)-1].Messages))
			}
			if text := e.text(session, "agent_message_chunk"); !strings.HasSuffix(text, "Fine.") {
				t.Errorf("the end is %q", text)
			}
			e.end()
		})
	}
}

// An editor is not told the tokens of an answer with searches as those of the conversation: they
// are a sum of several rounds.
func TestV7_SearchesFillNoWindow(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, fakellm.Turn{Searches: []llm.WebSearch{{Query: "go news"}}, Text: "It has.",
		Usage: &llm.Usage{Input: 900_000, Output: 10, Searches: 1}}, say("Yes."))
	h := newHome(t, url)
	e := h.newEditor("--web-search")
	e.initialize()
	session := e.open(h.dir)
	for _, text := range []string{"look", "really?"} {
		e.prompt(session, text)
	}
	usage := e.of(session, "usage_update")
	if len(usage) == 0 || strings.Contains(shown(usage), "900010") {
		t.Errorf("the usage: %s", shown(usage))
	}
	e.end()
}
