package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The transcript in docs/server.md is what the server answers and sends.
func TestW1_Transcript(t *testing.T) {
	t.Parallel()
	w := newWorld(t, say("Writing.", write("a.txt", "x\n")), say("Done."))
	c := w.start().as(ciToken)
	var b strings.Builder
	prefix := "none"
	tidy := func(text string) string {
		text = strings.NewReplacer(prefix, "k3v9qa-", w.root, "/home/me/project").Replace(text)
		for from, to := range map[string]string{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`: "7d0c0f6e-...",
			`,"last_event":"[^"]*"`: "", `"created":"[^"]*"`: `"created":"2026-05-01T10:00:00Z"`} {
			text = regexp.MustCompile(from).ReplaceAllString(text, to)
		}
		return text
	}
	say := func(format string, args ...any) { b.WriteString(tidy(fmt.Sprintf(format, args...)) + "\n") }
	post := func(path, body string, headers ...string) map[string]any {
		say("> POST %s %s", path, strings.TrimSpace(strings.Join(headers, ": ")+" "+body))
		a := c.request("POST", path, body, headers...)
		say("%d %s", a.status, a.body)
		return a.object(t)
	}
	id := post("/v1/sessions", `{"mode":"ask"}`)["id"].(string)
	path := "/v1/sessions/" + id
	say("> GET %s/events", path)
	events := c.watch(path + "/events")
	show := func(kind string) event {
		var last event
		for _, last = range events.until(kind) {
			// whose place differs
			if last.kind() == "NOTE" && last.data["note"] != "answered" || last.kind() == "ASK_ENDED" {
				continue
			}
			shown := maps.Clone(last.data)
			for _, name := range []string{"kind", "session_id", "time", "usage", "cost_usd", "latency_ms",
				"duration_ms", "hides_host",
				"containment", "changes", "access"} {
				delete(shown, name)
			}
			if ask, is := shown["ask"].(string); is {
				prefix = strings.TrimRight(ask, "0123456789")
			}
			data, err := json.Marshal(shown)
			if err != nil {
				t.Fatal(err)
			}
			say("id: %s\ndata: {\"kind\":%q,%s", last.id, last.kind(), data[1:])
		}
		return last
	}
	show("NOTE")
	post(path+"/lines", `{"type":"user","text":"Write a.txt"}`, "Idempotency-Key", "first")
	ask := show("APPROVAL_REQUESTED").data["ask"]
	allow := fmt.Sprintf(`{"type":"approve","ask":%q,"decision":"allow"}`, ask)
	post(path+"/lines", allow)
	show("PROCESSING_END")
	post(path+"/lines", allow)
	say("> GET %s/files?path=a.txt", path)
	a := c.request("GET", path+"/files?path=a.txt", "")
	say("%d %s", a.status, strings.TrimSpace(string(a.body)))
	say("> DELETE %s", path)
	say("%d", c.request("DELETE", path, "").status)

	const file, begin, end = "../docs/server.md", "<!-- transcript -->\n```text\n", "```\n<!-- end -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(page), begin)
	was, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("the page has no transcript")
	}
	if diff := cmp.Diff(was, b.String()); diff != "" && !*update {
		t.Errorf("the transcript is another one; go test ./server -run TestW1_Transcript -update writes it: %s", diff)
	} else if diff != "" {
		if err := os.WriteFile(file, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
