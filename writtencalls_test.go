package attractor

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A model that writes a call as text is asked once to call properly, and the person is told what to
// switch on.
func TestX7_CallsWrittenAsText(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		is   bool
	}{
		"Qwen": {"I look.\n<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\", \"env\": " +
			"{}}}\n</tool_call>", true},
		"Qwen3 Coder": {"<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n" +
			"</tool_call>", true},
		"Llama": {`{"name": "shell", "parameters": {"command": "ls"}}`, true},
		"a fence": {"Let me see.\n```json\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n```",
			true},
		"no tool":      {"```json\n{\"name\": \"left-pad\", \"arguments\": {}}\n```", false},
		"no arguments": {"```json\n{\"name\": \"shell\", \"version\": 1}\n```", false},
		"prose":        {"The tool shell takes {\"command\": \"ls\"} and runs it.", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fakellm.Turn{Text: c.text}, fakellm.Turn{Text: c.text}, fakellm.Turn{Text: "never"})
			config := b.config()
			config.Getenv = variables("OPENAI_COMPATIBLE_BASE_URL", b.url+"/v1")
			config.chosen.model = ptr("m")
			var warned []string
			_, result := b.submit(config, "go", func(o *agent.Options) {
				o.OnEvent = func(ev agent.Event) {
					if w, ok := ev.(*agent.Warning); ok && w.Code == "written_call" {
						warned = append(warned, w.Text)
					}
				}
			})
			if result.Text != c.text {
				t.Errorf("the answer is %q", result.Text)
			}
			asked := 1
			if c.is {
				asked = 2
			}
			if got := len(b.server.Requests()); got != asked || len(warned) != asked-1 {
				t.Errorf("%d requests, warnings %q", got, warned)
			}
			if c.is && (!strings.Contains(warned[0], "--jinja") ||
				!strings.Contains(b.lastRequest(), "That ran nothing")) {
				t.Errorf("warning %q, request %s", warned, b.lastRequest())
			}
		})
	}
	b := newBench(t, fakellm.Turn{Text: `{"name": "shell", "parameters": {"command": "ls"}}`},
		fakellm.Turn{Text: "never"})
	b.submit(b.config(), "go")
	if got := len(b.server.Requests()); got != 1 {
		t.Errorf("%d requests to a vendor", got)
	}
}
