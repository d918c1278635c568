//go:build unix

package attractor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// A further directory is a second root for tools and rules. Nothing in it starts anything. A
// resumed session keeps it, and is told when it is gone.
func TestN8_ModesAddDir(t *testing.T) {
	other, elsewhere := realTemp(t), realTemp(t)
	put(t, other, "a.txt", "one\n")
	put(t, other, "secrets.pem", "x")
	put(t, other, "AGENTS.md", "Speak Latin here.")
	put(t, elsewhere, "a.txt", "x")
	put(t, other, ".claude/settings.json",
		`{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch `+other+
			`/started"}]}]}, "permissions": {"allow": ["Bash(touch:*)"]}}`)
	put(t, other, ".mcp.json", `{"mcpServers": {"theirs": {"command": "touch", "args": ["`+other+`/started"]}}}`)
	edit := func(name string) fakellm.Turn {
		return calls(t, "write_file", object{"file_path": name, "content": "two\n"})
	}
	turns := []fakellm.Turn{calls(t, "read_file", object{"file_path": other + "/a.txt"}),
		calls(t, "shell", object{"command": "cat " + other + "/a.txt"}),
		edit(other + "/a.txt"), edit(other + "/.envrc"), edit(other + "/.git/config"),
		calls(t, "read_file", object{"file_path": other + "/secrets.pem"}),
		edit(elsewhere + "/a.txt"), calls(t, "shell", object{"command": "touch " + other + "/touched"})}
	want := "rrrqeqdq"
	b := newTeam(t, nil, append(slices.Clone(turns), fakellm.Turn{Text: "done"}, edit(other+"/b.txt"),
		fakellm.Turn{Text: "done"}, edit(other+"/c.txt"), fakellm.Turn{Text: "done"})...)
	b.config.Mode, b.config.AddDirs = permit.ModeAcceptEdits, []string{other, other + "/."}
	asked := map[string]bool{}
	b.config.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		asked[q.Call.ID] = true
		return permit.Answer{Verdict: tool.Allow}, nil
	}
	var id string
	submit := func(s *Setup, session *agent.Session) {
		id = session.ID()
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
	}
	b.open(submit)
	got := ""
	for i := range turns {
		call := "call_" + string(rune('0'+i)) + "_0"
		got += fate(b.results()[call], asked[call])
	}
	if _, err := os.Stat(filepath.Join(other, "started")); got != want || err == nil {
		t.Errorf("%s, want %s; %v; %v", got, want, err, b.results())
	}
	for i, r := range b.server.Requests() {
		if n := strings.Count(string(r.Body), "Speak Latin here."); n != min(i, 1) {
			t.Errorf("the document is %d times in request %d", n, i)
		}
	}
	if _, named, _ := strings.Cut(b.server.Requests()[0].System, "Writable directories: "); !strings.Contains(named,
		b.dir+", ") || !strings.Contains(named, other+"\n") {
		t.Errorf("the prompt does not name the directory: %s", named)
	}

	b.config.Resume, b.config.AddDirs = id, nil
	b.open(submit)
	if data, err := os.ReadFile(filepath.Join(other, "b.txt")); string(data) != "two\n" ||
		strings.Contains(b.lastRequest(), "You may now also") {
		t.Errorf("resumed: %q, %v", data, err)
	}
	if err := os.RemoveAll(other); err != nil {
		t.Fatal(err)
	}
	b.config.AddDirs = []string{elsewhere}
	b.open(submit)
	for _, part := range []string{"You may now also read and change files in " + elsewhere,
		"not there any more, so you cannot use their files: " + other} {
		if !strings.Contains(b.lastRequest(), part) {
			t.Errorf("%q is not in %s", part, b.lastRequest())
		}
	}
	if len(b.told) != 1 || !strings.Contains(b.told[0], "The session goes on without the directory "+other) {
		t.Errorf("told %q", b.told)
	}
	b.config.AddDirs = []string{other}
	if _, err := prepare(t.Context(), b.config); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), other) {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

// Rules of the command line count as the user's. A tool that is denied as a whole is not offered,
// also not one of a server.
func TestN8_ModesToolRules(t *testing.T) {
	b := newTeam(t, nil, calls(t, "shell", object{"command": "sleep 0"}),
		calls(t, "shell", object{"command": "sleep 0.001"}),
		calls(t, "edit_file", object{"file_path": "x", "old_string": "", "new_string": "y"}),
		fakellm.Turn{Text: "done"})
	b.config.Mode, b.config.MCP = permit.ModeAsk, []string{b.trustedMill()}
	b.config.Allow = []string{"Bash(sleep:*)"}
	b.config.Deny = []string{"Bash(sleep 0.001)", "Edit", "mcp__mill__grind", "write_fil"}
	b.open(func(s *Setup, session *agent.Session) {
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
		var names []string
		for _, tool := range session.Tools() {
			names = append(names, tool.Name)
		}
		for name, offered := range map[string]bool{"edit_file": false, "write_file": false, "shell": true,
			"read_file": true, "mcp__mill__grind": false, "mcp__mill__look": true} {
			if slices.Contains(names, name) != offered {
				t.Errorf("%s: the session has %v", name, names)
			}
		}
	})
	for i, want := range []string{"r", "d", "e"} {
		if got := fate(b.results()["call_"+string(rune('0'+i))+"_0"], false); got != want {
			t.Errorf("call %d: %s, want %s: %v", i, got, want, b.results())
		}
	}
	if len(b.told) != 1 || !strings.Contains(b.told[0], "The rule write_fil denies nothing") {
		t.Errorf("told %q", b.told)
	}
	for _, rule := range []string{"Bsh", "Bash(", "Read,Edit", ""} {
		c := b.config
		c.Deny = []string{rule}
		if _, err := prepare(t.Context(), c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), theProgram) {
			t.Errorf("%q: %v", rule, err)
		}
	}
}

// A server cannot offer a tool later that is denied.
func TestN8_ModesDeniedLater(t *testing.T) {
	b := newTeam(t, nil, calls(t, "mcp__mill__retool", object{}), fakellm.Turn{Text: "done"})
	b.config.MCP, b.config.Deny = []string{b.trustedMill()}, []string{"mcp__mill__sieve"}
	b.open(func(s *Setup, session *agent.Session) {
		if _, err := session.Submit(t.Context(), "the task"); err != nil {
			t.Error(err)
		}
		for _, tool := range session.Tools() {
			if tool.Name == "mcp__mill__sieve" {
				t.Errorf("the session has %s", tool.Name)
			}
		}
	})
	if got := fate(b.results()["call_0_0"], false); got != "r" {
		t.Errorf("%s: %v", got, b.results())
	}
}

// A further directory may be the working directory, and be in it or around it.
func TestN8_ModesAddDirNested(t *testing.T) {
	for name, added := range map[string]string{"the same": ".", "inside": "sub", "around": ".."} {
		t.Run(name, func(t *testing.T) {
			b := newTeam(t, nil, calls(t, "write_file", object{"file_path": "sub/made", "content": "x"}),
				fakellm.Turn{Text: "done"})
			b.dir = filepath.Join(b.dir, "work")
			put(t, b.dir, "sub/AGENTS.md", "Speak Latin here.")
			b.config.Dir, b.config.Mode, b.config.AddDirs = b.dir, permit.ModeAcceptEdits,
				[]string{filepath.Join(b.dir, added)}
			b.open(func(s *Setup, session *agent.Session) {
				if _, err := session.Submit(t.Context(), "the task"); err != nil {
					t.Error(err)
				}
			})
			if _, err := os.Stat(filepath.Join(b.dir, "sub/made")); err != nil || strings.Count(b.lastRequest(),
				"Speak Latin here.") != 1 || len(b.told) > 0 {
				t.Errorf("%v, told %q: %s", err, b.told, b.lastRequest())
			}
		})
	}
}
