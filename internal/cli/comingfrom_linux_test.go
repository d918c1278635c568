package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What attractor prints in docs/coming-from is what it prints, without some members and events.
func TestQ4_ComingFromTranscripts(t *testing.T) {
	for page, reads := range map[string]struct {
		args []string
		tool string
		call object
	}{
		"claude-p":   {[]string{"--read-only", "--provider", "anthropic"}, "Read", object{"file_path": "a.txt"}},
		"codex-exec": {[]string{"--yes", "--provider", "openai"}, "exec_command", object{"cmd": "cat a.txt"}},
	} {
		t.Run(page, func(t *testing.T) {
			url, _ := serve(t, nil, say("I read the file.", use(reads.tool, reads.call)), say("It says hello."))
			h := newHome(t, url)
			h.writeFile("./a.txt", "hello\n")
			out := h.runWith(0, []string{"OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url + "/v1"},
				slices.Concat([]string{"run", "--native", "--json"}, reads.args,
					[]string{"what does a.txt say?"})...).stdout
			documentedIn(t, "../../docs/coming-from/"+page+".md", "<!-- transcript read -->\n```json\n",
				strings.ReplaceAll(essence(t, out), h.dir, "/tmp/proj"))
		})
	}
}

// essence returns the lines of the events that the page shows, with the members that it shows.
func essence(t *testing.T, events string) string {
	t.Helper()
	var page strings.Builder
	for line := range strings.Lines(events) {
		var all map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &all); err != nil {
			t.Fatal(err)
		}
		kind := strings.Trim(string(all["kind"]), `"`)
		if strings.HasSuffix(kind, "_DELTA") || strings.HasPrefix(kind, "STEP_") || kind == "NOTE" ||
			kind == "ASSISTANT_TEXT_START" {
			continue
		}
		var members []string
		for _, name := range []string{"kind", "session_id", "model", "dir", "text", "call_id", "name", "arguments",
			"output", "is_error", "changes", "ran", "reason", "cost_usd", "turns"} {
			if value, ok := all[name]; ok && (name != "session_id" || kind == "SESSION_START") {
				members = append(members, `"`+name+`":`+string(value))
			}
		}
		page.WriteString("{" + strings.Join(members, ",") + "}\n")
	}
	return page.String()
}
