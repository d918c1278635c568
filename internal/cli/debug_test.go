//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// debugLines returns the messages of a file of --debug with their numbers, and its text. Each line
// has to be JSON.
func debugLines(t *testing.T, file string) (count map[string]int, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	count = map[string]int{}
	for line := range strings.Lines(string(data)) {
		var l struct{ Time, Level, Msg, Session string }
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Time == "" || l.Level == "" {
			t.Errorf("%v in %.300s", err, line)
		}
		if l.Session == "" && !strings.HasPrefix(l.Msg, "acp: ") {
			t.Errorf("a line without a session: %.300s", line)
		}
		count[l.Msg]++
	}
	return count, string(data)
}

// Every host writes the requests, the responses and the log of its session, without the secrets of
// the environment.
func TestN7_DebugInEveryHost(t *testing.T) {
	const token = "key-of-a-test" // the key in the environment of each command
	turns := []fakellm.Turn{say("It is "+token+".", use("shell", map[string]any{"command": "echo " + token})),
		say("Bye, " + token + ".")}
	for name, run := range map[string]func(h *home){
		"run":        func(h *home) { h.run(0, "run", "--yes", "--debug", "log", "look at "+token) },
		"no journal": func(h *home) { h.run(0, "run", "--yes", "--no-journal", "--debug", "log", "look at "+token) },
		"json": func(h *home) {
			p := h.converse("--yes", "--debug", "log")
			p.say("user", map[string]any{"text": "look at " + token})
			p.next("PROCESSING_END")
			p.close()
			p.end(0)
		},
		"acp": func(h *home) {
			e := newEditor(h.T, h, "--yes", "--debug", "log")
			e.initialize()
			e.call("session/prompt", promptOf(e.open(), "look at "+token))
			e.wait(0)
		},
		"resumed": func(h *home) {
			h.run(0, "run", "--yes", "--debug", "log", "look at "+token)
			h.run(0, "run", "--yes", "--continue", "--debug", "log", "again "+token) // appends
		},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := serve(t, nil, turns...)
			h := newHome(t, url)
			run(h)
			count, text := debugLines(t, filepath.Join(h.dir, "log"))
			for _, want := range []string{"session started", "http request", "http response", "http body", "step ended",
				"tool call ended", "start", "exit", "session ended"} {
				if count[want] == 0 {
					t.Errorf("no line %q among %v", want, count)
				}
			}
			if at := strings.Index(text, token); at >= 0 {
				t.Errorf("the file has a secret: %s", text[max(0, at-300):at])
			}
			if !strings.Contains(text, "[secret ANTHROPIC_API_KEY]") {
				t.Error("nothing was masked")
			}
		})
	}
}

// A log that cannot be written is told once, and the session goes on.
func TestN7_DebugToAFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this system has no full device:", err)
	}
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo hello"})), say("done"))
	out := newHome(t, url).run(0, "run", "--yes", "--debug", "/dev/full", "go")
	if out.stdout != "done\n" || strings.Count(out.stderr, "The debug log cannot be written") != 1 ||
		!strings.Contains(out.stderr, "no space left") {
		t.Errorf("%q, %s", out.stdout, out.stderr)
	}
}

// Without a terminal, - is standard error.
func TestN7_DebugToStandardError(t *testing.T) {
	url, _ := serve(t, nil, say("done"))
	out := newHome(t, url).run(0, "run", "--yes", "--json", "--debug", "-", "go")
	if !strings.Contains(out.stderr, `"msg":"http request"`) || strings.Contains(out.stdout, "http request") {
		t.Errorf("%s", out.stderr)
	}
}

// A --debug without a file is told, also where it would take another flag or the prompt for one.
func TestN7_DebugNeedsAFile(t *testing.T) {
	h := newHome(t, "")
	if err := os.WriteFile(filepath.Join(h.dir, "notes"), []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--debug needs a file", []string{"run", "--debug"}},
		{"--debug needs a file", []string{"chat", "--debug"}},
		{"write ./--yes", []string{"run", "--debug", "--yes", "go"}},
		{"--debug needs a file", []string{"run", "--yes", "--debug", "go"}},
		{"standard output has the answer", []string{"run", "--debug", "/dev/stdout", "go"}},
		{"is a directory", []string{"demo", "--debug", "."}},
		{"something else in it", []string{"acp", "--debug", "notes"}},
		{"no such file", []string{"run", "--debug", "no/file", "go"}},
	} {
		if out := h.run(exitUsage, c.args...); !strings.Contains(out.stderr, c.want) {
			t.Errorf("%v: %s, want %q", c.args, out.stderr, c.want)
		}
	}
	if left, err := os.ReadDir(h.dir); err != nil || len(left) != 1 {
		t.Errorf("files were made: %v, %v", left, err)
	}
}

// The recipes of the documentation work with the log of the demo.
func TestN7_DebuggingDocs(t *testing.T) {
	t.Parallel()
	jq := peer.Need(t, "jq")
	doc, err := os.ReadFile("../../docs/debugging.md")
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t, "")
	h.run(0, "demo", "--json", "--debug", "debug.jsonl")
	recipes := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(doc), -1)
	if len(recipes) < 3 {
		t.Fatalf("%d recipes", len(recipes))
	}
	for _, recipe := range recipes {
		cmd := exec.Command("sh", "-c", recipe[1])
		cmd.Dir = h.dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(jq)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil || len(out) == 0 && !strings.Contains(recipe[1], "ERROR") { // nothing goes wrong in the demo
			t.Errorf("%s: %v\n%s", recipe[1], err, out)
		}
	}
}
