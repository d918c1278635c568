package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// greeting returns the home of the sessions in docs/hosts.md, with a model that changes a file.
func greeting(t *testing.T) *home {
	t.Helper()
	url, _ := serve(t, nil, say("I read the file.", use("read_file", object{"file_path": "a.txt"})),
		say("Now I change it.", use("edit_file", object{"file_path": "a.txt", "old_string": "hello",
			"new_string": "hello world"})),
		fakellm.Turn{Text: "The file greets the **world** now."})
	h := chatHome(t, url)
	h.file("a.txt", "hello\n")
	return h
}

// The transcripts in docs/hosts.md are what the hosts show and send.
func TestN1_N2_N3_HostsDocs(t *testing.T) {
	for name, transcript := range map[string]func(t *testing.T) string{"run": runTranscript, "chat": chatTranscript,
		"json": jsonTranscript, "acp": acpTranscript} {
		// one after the other: -update writes the file
		t.Run(name, func(t *testing.T) { documented(t, name, transcript(t)) })
	}
	t.Run("host", func(t *testing.T) { documented(t, "host", exampleHost(t)) })
}

// exampleHost returns the code of the example of a host, without its output, and with the options
// of a real one.
func exampleHost(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../../agent/example_host_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(data), "func Example_host() {\n")
	code, _, found := strings.Cut(code, "\t// Output:")
	if !found {
		t.Fatal("there is no example of a host")
	}
	_, code, _ = strings.Cut(code, "scripted(")
	_, code, _ = strings.Cut(code, "\n")
	code = "\nctx := context.Background()\no := agent.Options{Client: client, Profile: anthropic.Profile(), Env: " +
		"local}\n" + code
	return strings.TrimPrefix(strings.ReplaceAll(code, "\n\t", "\n"), "\n")
}

// documented compares a transcript with the block of that name in docs/hosts.md, without what
// differs from run to run.
func documented(t *testing.T, name, got string) {
	t.Helper()
	begin := "<!-- transcript " + name + " -->\n```text\n"
	if name == "host" {
		begin = "<!-- the example in agent/example_host_test.go -->\n```go\n"
	}
	documentedIn(t, "../../docs/hosts.md", begin, got)
}

// documentedIn compares a transcript with the block of a file that begins with a text, without what
// differs from run to run.
func documentedIn(t *testing.T, file, begin, got string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const end = "```\n<!-- end -->\n"
	head, rest, found := strings.Cut(string(data), begin)
	was, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no block that begins with %s", file, begin)
	}
	diff := cmp.Diff(steady(was), steady(got))
	switch {
	case diff == "":
	case !*update:
		t.Errorf("the transcript in %s after %s is another one; go test ./internal/cli -run %s -update rewrites it: %s",
			file, begin, t.Name(), diff)
	default:
		if err := os.WriteFile(file, []byte(head+begin+got+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// steady returns a transcript without its times, costs and ids.
func steady(text string) string {
	for from, to := range map[string]string{
		`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`: "SESSION",
		`\b\d+(\.\d+)?(ms|s)\b|<1ms`:                                   "TIME",
		`[\d.]+k? tokens in( \(\d+% cached\))?, \d+ out`:               "TOKENS",
		`\$\d+(\.\d+)?`: "COST",
		`"ask":"[^"]*"`: "ASK",
		`"duration":\d+|"cost_usd":[\d.e-]+|Wall time: [\d.]+ seconds`: "FIGURE",
	} {
		text = regexp.MustCompile(from).ReplaceAllString(text, to)
	}
	return text
}

// onPaper returns a screen as the page has it.
func (h *home) onPaper(text string) string {
	return regexp.MustCompile(`(?m) +$`).ReplaceAllString(strings.ReplaceAll(text, h.dir, "~/project"), "") + "\n"
}

// runTranscript answers the question of run on a terminal.
func runTranscript(t *testing.T) string {
	h := greeting(t)
	s := onScreen(t, h.command("run", "greet the world"), 100, 40)
	s.expect("Allow it?")
	s.send("y")
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	shown, _, _ := strings.Cut(s.all(), "\nPane is dead")
	return h.onPaper(strings.TrimRight(shown, "\n"))
}

// atRest matches a screen of chat that waits for an input, which is empty, with the line of figures
// below it. The live line may still be above it for a moment.
var atRest = regexp.MustCompile(`\n> *\n[^\n]*/help *$`)

// chatTranscript does the same in chat.
func chatTranscript(t *testing.T) string {
	h := greeting(t)
	s := onScreen(t, chatting(h), 100, 40)
	s.expect(ready)
	s.send("greet the world")
	s.expect("Allow it?")
	s.send("y")
	s.expect("3 turns")
	text := ""
	s.until("the input, in place of the live line", func() bool {
		text = s.all() // the one that is returned
		return atRest.MatchString(text) && !strings.Contains(text, "\nworking ")
	})
	defer func() {
		s.press("C-d")
		s.ended()
	}()
	return h.onPaper(text)
}

// jsonTranscript returns the lines of a program and the events that say most. A reply comes after
// its line.
func jsonTranscript(t *testing.T) string {
	h := greeting(t)
	p := h.converse()
	var all strings.Builder
	sent := map[string]string{}
	say := func(after, kind string, members map[string]any) {
		p.say(kind, members)
		data, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		reply := p.next("REPLY")
		sent[after] = "> " + strings.Replace(string(data), "{", `{"type":"`+kind+`",`, 1) + "\n" + shortEvent(t,
			reply.raw)
	}
	say("SESSION_START", "user", map[string]any{"text": "greet the world"})
	ask := p.next("APPROVAL_REQUESTED")
	say("APPROVAL_REQUESTED", "approve", map[string]any{"ask": ask.Ask, "decision": "allow"})
	p.next("PROCESSING_END")
	p.close()
	p.end(0)
	for _, ev := range p.seen {
		switch ev.Kind {
		case "SESSION_START", "USER_INPUT", "ASSISTANT_TEXT_END", "TOOL_CALL_START", "TOOL_CALL_END",
			"APPROVAL_REQUESTED", "PROCESSING_END", "SESSION_END":
			all.WriteString(shortEvent(t, ev.raw) + sent[ev.Kind])
			delete(sent, ev.Kind)
		}
	}
	return h.onPaper(strings.TrimRight(all.String(), "\n"))
}

// shortEvent returns an event without the members that say less.
func shortEvent(t *testing.T, line string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, name := range []string{"kind", "line", "ok", "model", "dir", "ask", "call_id", "tool", "name", "arguments",
		"allow", "text", "output", "is_error", "reason"} {
		value, is := members[name]
		if !is || name == "text" && string(members["kind"]) == `"APPROVAL_REQUESTED"` || name == "reason" &&
			members["ask"] != nil {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":` + string(value))
	}
	return "{" + b.String() + "}\n"
}

// acpTranscript returns the messages of an editor, marked by >, and those of its agent that say
// most.
func acpTranscript(t *testing.T) string {
	h := greeting(t)
	e := newEditor(t, h)
	var all strings.Builder
	e.watch = func(mark string, line []byte) { all.WriteString(shortMessage(t, mark, line)) }
	e.onAsk = func(string, json.RawMessage) any {
		return object{"outcome": object{"outcome": "selected", "optionId": "allow"}}
	}
	e.initialize()
	e.call("session/prompt", promptOf(e.open(), "greet the world"))
	e.watch = nil
	e.wait(0)
	return h.onPaper(strings.TrimRight(all.String(), "\n"))
}

// shortMessage returns a message without the members that say less, or nothing for one that says
// little.
func shortMessage(t *testing.T, mark string, line []byte) string {
	t.Helper()
	var m object
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	switch at(m, "params", "update", "sessionUpdate") {
	case "available_commands_update", "usage_update", "session_info_update", "config_option_update":
		return ""
	case "tool_call", "tool_call_update":
		if at(m, "params", "update", "title") == "" && at(m, "params", "update", "status") == "" {
			return ""
		}
	}
	shorten(m)
	return mark + shown(m) + "\n"
}

// shorten removes members from a message.
func shorten(v any) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			shorten(one)
		}
	case object:
		for _, name := range []string{"jsonrpc", "_meta", "rawInput", "rawOutput", "locations", "messageId", "modes",
			"configOptions", "agentCapabilities", "authMethods",
			"agentInfo", "clientCapabilities", "mcpServers"} {
			delete(v, name)
		}
		if call, ok := v["toolCall"].(object); ok {
			delete(call, "content")
			delete(v, "sessionId")
		}
		if _, ok := v["update"]; ok {
			delete(v, "sessionId")
		}
		if at(v, "kind") == "read" {
			delete(v, "content")
		}
		for _, one := range v {
			shorten(one)
		}
	}
}
