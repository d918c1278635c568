package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/server"
)

// What the configuration of an MCP server declares as a secret is masked wherever the session is
// shown: as it runs, in its files, and in its events after a restart, as long as nobody has opened
// it.
func TestW1_SecretsOfServersAreMasked(t *testing.T) {
	t.Parallel()
	const token = "do-not-show-me-4711-anywhere"
	w := newWorldOf(t, fakellm.Script(say("It is "+token+".", write("a.txt", "the token "+token+"\n"),
		use("shell", object{"command": "cat a.txt"})), say("Done.")))
	servers := `{"mcpServers":{"s":{"command":"true","env":{"GITHUB_TOKEN":"` + token + `"}}}}`
	if err := os.WriteFile(filepath.Join(w.root, ".mcp.json"), []byte(servers), 0o600); err != nil {
		t.Fatal(err)
	}
	change := func(o *server.Options) {
		full(o)
		o.Config.Load, o.Config.TrustProject = attractor.LoadProject, true
	}
	s := w.start(change)
	c := s.as(ciToken)
	id := c.create(object{})
	events := c.watch("/v1/sessions/" + id + "/events")
	c.line(id, object{"type": "user", "text": "use " + token})
	see := func(when string, seen []event) {
		t.Helper()
		file := c.request("GET", "/v1/sessions/"+id+"/files?path=a.txt", "")
		if strings.Contains(string(file.body), token) || !strings.Contains(string(file.body), "[secret GITHUB_TOKEN]") {
			t.Errorf("%s, the file is shown as %q", when, file.body)
		}
		for _, e := range seen {
			if strings.Contains(fmt.Sprint(e.data), token) {
				t.Errorf("%s, the event %s %s has the token", when, e.id, e.kind())
			}
		}
	}
	see("while it is open", events.until("PROCESSING_END"))
	c.line(id, object{"type": "close"})
	see("when it was closed", c.watch("/v1/sessions/"+id+"/events").until("PROCESSING_END"))
	s.end()
	c = w.start(change).as(ciToken)
	see("after a restart", c.watch("/v1/sessions/"+id+"/events").until("PROCESSING_END"))
}
