//go:build unix

package cli

import (
	"strings"
	"testing"
)

// What an editor is shown of a session has no secrets: neither while it runs nor when it is loaded,
// although the journal has the model's answers as they were. Only a question about a call shows the
// call as it would run.
func TestN1_SecretsOfASession(t *testing.T) {
	t.Parallel()
	const token = "token-of-a-person-7"
	url, _ := serve(t, nil, say("It is "+token+".", use("shell", object{"command": "echo " + token}),
		use("ask_user", object{"question": "Is it " + token + "?", "options": []string{token}})),
		say("Bye, "+token+"."))
	h := newHome(t, url)
	vars := []string{"ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL=" + url, "PERSON_TOKEN=" + token}
	e := h.newEditorWith(vars, "--yes")
	e.call("initialize",
		object{"protocolVersion": 1, "clientCapabilities": object{"elicitation": object{"form": object{}}}})
	session := e.open(h.dir)
	asked := ""
	e.on("elicitation/create", func(a ask) {
		asked = shown(a.params)
		e.answer(a, object{"action": "decline"}, nil)
	})
	if stop := e.prompt(session, "the first task is "+token); stop != "end_turn" {
		t.Errorf("stopped with %s", stop)
	}
	live := shown(e.of(session))
	e.end()
	e = h.newEditorWith(vars, "--yes")
	e.initialize()
	e.call("session/load", h.resume(session))
	loaded := shown(e.of(session))
	e.end()
	for name, text := range map[string]string{"live": live, "loaded": loaded, "asked": asked} {
		if strings.Contains(text, token) || !strings.Contains(text, "[secret PERSON_TOKEN]") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
