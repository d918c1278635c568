package cli

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// serveMetered starts a server with a scripted model, behind a meter.
func serveMetered(t *testing.T, model fakellm.Model) (url string, server *fakellm.Server, meter *llmtest.Meter) {
	t.Helper()
	server = fakellm.New(model, fakellm.Options{})
	meter = llmtest.NewMeter(server)
	web := httptest.NewServer(meter)
	t.Cleanup(web.Close)
	return web.URL, server, meter
}

// awaited is a stream of which somebody waits for a text.
type awaited struct {
	text  string
	shown chan struct{} // closed when the text has been written, or nobody writes any more

	mu  sync.Mutex
	all string
	end sync.Once
}

func (w *awaited) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all += string(p); strings.Contains(w.all, w.text) {
		w.over()
	}
	return len(p), nil
}

func (w *awaited) over() { w.end.Do(func() { close(w.shown) }) }

// A session is resumed without its servers, with one that no longer works, and with the server
// again. What was sent stays.
func TestM2_ResumeWithoutServers(t *testing.T) {
	stderr := &awaited{text: "the MCP server lab could not be started, so its tools are missing",
		shown: make(chan struct{})}
	echo := func(text string) fakellm.Turn { return say("", use("mcp__lab__echo", map[string]any{"text": text})) }
	turns := fakellm.Script(echo("one"), say("first"), echo("two"), say("second"), echo("three"), say("third"),
		echo("four"), say("fourth"))
	n := 0
	url, server, meter := serveMetered(t, func(r *fakellm.Request) fakellm.Turn {
		if n++; n == 5 {
			<-stderr.shown // the server that does not work has no other way to be noticed in time
		}
		return turns(r)
	})
	h := newHome(t, url)
	works := servers(t, `lab=lab,"required": true`)
	h.own(works)
	last := func() string {
		all := server.Requests()
		return lastResults(all[len(all)-1].Messages)
	}
	h.run(0, "run", "--yes", "x")
	has(t, last(), "echo: one")
	id := h.sessions()[0].ID
	out := h.run(0, "run", "--yes", "--no-mcp", "--resume", id, "go on")
	if strings.Contains(last(), "echo: two") || !strings.Contains(last(), "mcp__lab__echo") ||
		!strings.Contains(out.stdout, "second") {
		t.Errorf("without servers: %s, %+v", last(), out)
	}

	h.own(`{"mcpServers": {"lab": {"command": "no-such-program"}}}`)
	cmd := attractorCommand(t, "run", "--yes", "--resume", id, "go on")
	cmd.Dir, cmd.Stderr = h.dir, stderr
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+h.url)
	err := cmd.Run()
	stderr.over()
	if has(t, stderr.all, stderr.text, "no-such-program"); err != nil || strings.Contains(last(), "echo: three") ||
		!strings.Contains(last(), "lab") {
		t.Errorf("with a dead server: %v, %s", err, last())
	}

	h.own(works)
	h.run(0, "run", "--yes", "--resume", id, "go on")
	has(t, last(), "echo: four")
	if breaks := meter.Breaks(); len(breaks) > 0 {
		t.Errorf("of %d requests, these begin differently: %q", meter.Requests(), breaks)
	}
}

// A whole session of the command with both reference servers from npm, which are those of a
// project.
func TestM5_RunWithReferenceServers(t *testing.T) {
	t.Parallel()
	everything, filesystem := peer.Need(t, "mcp-server-everything"), peer.Need(t, "mcp-server-filesystem")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	note := filepath.Join(dir, "note.txt")
	url, server, meter := serveMetered(t, fakellm.Script(
		say("", use("mcp__all__get-tiny-image", nil),
			use("mcp__files__write_file", map[string]any{"path": note, "content": "hello"})),
		say("", use("mcp__files__read_text_file", map[string]any{"path": note}),
			use("mcp__files__read_text_file", map[string]any{"path": "/etc/passwd"})),
		say("", use("mcp__all__get-structured-content", map[string]any{"location": "Chicago"}),
			use("mcp__all__get-sum", map[string]any{"a": "one"})),
		say("", use("mcp_read", map[string]any{"server": "all", "uri": "demo://resource/dynamic/text/7"}),
			use("mcp__all__get-env", nil)),
		say("done")))
	h := newHome(t, url)
	h.dir = dir
	h.projects(fmt.Sprintf(`{"mcpServers": {"all": {"command": %q, "required": true, "startTimeout": 120000, "env": {"ADDED": "value"}},
		"files": {"command": %q, "args": ["${CLAUDE_PROJECT_DIR}"], "required": true, "startTimeout": 120000}}}`,
		everything, filesystem))
	h.onTerminal(0, "y\n", "trust")
	out := h.run(0, "run", "--yes", "--json", "use everything")
	if data, err := os.ReadFile(note); err != nil || string(data) != "hello" {
		t.Errorf("the note is %q, %v", data, err)
	}
	has(t, out.stdout, "Successfully wrote to", "outside allowed directories",
		"Resource 7: This is a plaintext resource", `"temperature":36`)
	var ends, failed, pictures, leftOut int
	for line := range strings.Lines(out.stdout) {
		var ev struct {
			Kind, Output string
			IsError      bool `json:"is_error"`
			Media        []struct{ MIME string }
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		switch {
		case ev.Kind == "WARNING" &&
			strings.Contains(line, "the tools simulate-research-query of the MCP server all are left out"):
			leftOut++ // although the server changes its list when it has started
			continue
		case ev.Kind == "WARNING":
			t.Errorf("%s", line)
		case ev.Kind != "TOOL_CALL_END":
			continue
		}
		ends++
		pictures += len(ev.Media)
		if ev.IsError {
			failed++
		}
		if strings.Contains(ev.Output, `"PATH"`) && (!strings.Contains(ev.Output, `"ADDED": "value"`) ||
			strings.Contains(ev.Output, "key-of-a-test")) {
			t.Errorf("the server's variables are %s", ev.Output)
		}
	}
	if ends != 8 || failed != 2 || pictures != 1 || leftOut != 1 {
		t.Errorf("%d results, of which %d are errors, with %d images; %d warnings of tools\n%s", ends, failed, pictures,
			leftOut, out.stdout)
	}
	seen := 0
	for _, m := range server.Requests()[1].Messages {
		for _, part := range m.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				for _, in := range r.Content {
					if _, image := in.(llm.Media); image {
						seen++
					}
				}
			}
		}
	}
	if breaks := meter.Breaks(); seen != 1 || len(breaks) > 0 {
		t.Errorf("the model sees %d images; requests begin differently: %q", seen, breaks)
	}
}

// The result of a server's tool is masked, cleaned, cut and kept like any other: the model reads
// the rest with read_output.
func TestM1_ResultsPassTheDoors(t *testing.T) {
	t.Parallel()
	long := "\x1b[31mred\x1b[0m \u202eleft\n" + strings.Repeat("one of many lines\n",
		20_000) + "needle\n" + strings.Repeat("one of many lines\n", 20_000)
	id := regexp.MustCompile(`id "?([\w-]+)`)
	var said []string
	url, _, _ := serveMetered(t, func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() > 0 {
			said = append(said, lastResults(r.Messages))
		}
		switch r.Turn() {
		case 0:
			return say("", use("mcp__lab__echo", map[string]any{"text": long}))
		case 1:
			found := id.FindStringSubmatch(said[0])
			if found == nil {
				return say("there is no id")
			}
			return say("", use("read_output", map[string]any{"id": found[1], "pattern": "needle"}),
				use("mcp__lab__environment", nil))
		}
		return say("done")
	})
	h := newHome(t, url)
	h.own(servers(t, `lab=lab,"required": true`))
	out := h.run(0, "run", "--yes", "--json", "x")
	if len(said) != 2 {
		t.Fatalf("there are %d requests with results: %.2000s", len(said), said)
	}
	if first := said[0]; len(first) > 100<<10 || strings.ContainsAny(first, "\x1b\u202e") ||
		!strings.Contains(first, "red") {
		t.Errorf("the first result has %d bytes: %.300q", len(first), first)
	}
	has(t, said[1], "20002", "needle", "THE_TOKEN=[secret THE_TOKEN]")
	if strings.Contains(said[1]+out.stdout, "token-of-a-test") {
		t.Error("the server's secret is shown")
	}
}
