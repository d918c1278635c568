package attractor

import (
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/mcp"
)

// Servers that a host is given are used before configured ones with their names, which is told.
// What they get as secrets is masked.
func TestN1_GivenServers(t *testing.T) {
	b := newBench(t, calls(t, "mcp__here__grind", object{}),
		calls(t, "shell", object{"command": "echo given-token-$((40+2))-value"}), fakellm.Turn{Text: "done"})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := b.config()
	c.MCP = []string{b.mills(map[string]string{"here": "127.0.0.1:9", "other": open})}
	good := mcp.Server{Name: "here", File: "the editor", Origin: mcp.Project, Command: self, Required: true,
		Env: map[string]string{serverVar: open, "GOCOVERDIR": t.TempDir(), "GIVEN_TOKEN": "given-token-42-value"}}
	c.Servers = []mcp.Server{good, {Name: "two\nlines", File: "the editor", Command: self},
		{Name: "empty", File: "the editor"}, good}
	var warned []string
	results := ""
	collect := func(o *agent.Options) {
		o.OnEvent = func(ev agent.Event) {
			switch ev := ev.(type) {
			case *agent.Warning:
				warned = append(warned, ev.Text)
			case *agent.ToolCallEnd:
				results += ev.Output
			}
		}
	}
	b.submit(c, "grind", collect)
	if !strings.Contains(results, "ground 1 in ") {
		t.Errorf("the given server was not used: %s", results)
	}
	if strings.Contains(results, "given-token-42-value") || !strings.Contains(results, "[secret GIVEN_TOKEN]") {
		t.Errorf("the secret of the given server is not masked: %s", results)
	}
	for _, r := range b.server.Requests() { // in which the server describes a tool by it
		body := string(r.Body)
		if strings.Contains(body, "given-token-42-value") || !strings.Contains(body, "[secret GIVEN_TOKEN]") {
			t.Errorf("the secret is not masked in a request: %s", body)
		}
	}
	all := strings.Join(warned, "\n")
	for _, want := range []string{"the server here of " + c.MCP[0] +
		" is not used, because the editor has one with the same name", "visible characters",
		"the server empty: it has neither", "the server here of the editor is not used, because the editor has one"} {
		if !strings.Contains(all, want) {
			t.Errorf("the warnings do not say %q:\n%s", want, all)
		}
	}

	b = newBench(t, fakellm.Turn{Text: "done"})
	c = b.config()
	c.Servers, c.NoMCP, warned = []mcp.Server{good}, true, nil
	b.submit(c, "hello", collect)
	if len(warned) != 1 || !strings.Contains(warned[0], "--no-mcp") || b.offers(0, "mcp__here__grind") {
		t.Errorf("without MCP: %q", warned)
	}
	if servers := (Config{Dir: b.dir, Servers: []mcp.Server{good}}); len(ServerNames(servers)) != 1 {
		t.Errorf("the names of the servers are %q", ServerNames(servers))
	}
}
