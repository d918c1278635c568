package hooks_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/ext/hooks"
)

// described returns hooks as lines.
func described(all []hooks.Hook) (lines []string) {
	for i := range all {
		h := &all[i]
		line := fmt.Sprintf("%s %q %s %v", h.Event, h.Matcher, h, h.Timeout)
		if h.Async {
			line += " async"
		}
		if h.Block {
			line += " block"
		}
		if h.If != "" {
			line += " if " + h.If
		}
		lines = append(lines, line)
	}
	return lines
}

// Files as public repositories have them are read as Claude Code and codex read them.
func TestM9_Files(t *testing.T) {
	for name, c := range map[string]struct{ file, data, want string }{
		"a settings file with much else": {".claude/settings.json",
			`{"permissions": {"allow": ["Bash(npm:*)"]}, "model": "opus", "env": {"A": "b"},
			"hooks": {"PostToolUse": [{"matcher": "Write|Edit|MultiEdit", "hooks": [{"type": "command", "command": "jq -r '.tool_input.file_path' | xargs npx prettier --write"}]}]},
			"statusLine": {"type": "command", "command": "x"}}`,
			`PostToolUse "Write|Edit|MultiEdit" jq -r '.tool_input.file_path' | xargs npx prettier --write 1m0s`},
		"events without matchers": {"settings.json",
			`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "afplay done.aiff"}]}],
			"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "date", "timeout": 5}]}], "Notification": [{"matcher": "", "hooks": [{"type": "command", "command": "notify-send hi"}]}],
			"SessionEnd": [{"hooks": [{"type": "command", "command": "bye"}]}]}}`,
			"Stop \"\" afplay done.aiff 1m0s\nUserPromptSubmit \"\" date 5s\nNotification \"\" notify-send hi 1m0s\n" +
				"SessionEnd \"\" bye 10s"},
		"codex": {".codex/hooks.json",
			`{"hooks": {"SessionStart": [{"matcher": "startup|resume", "hooks": [{"type": "command", "command": "python3 ~/.codex/hooks/start.py",
			"statusMessage": "Loading", "timeout": 30}]}], "PreToolUse": [{"matcher": "^Bash$", "hooks": [{"type": "command", "command": "check"}]}]}}`,
			"SessionStart \"startup|resume\" python3 ~/.codex/hooks/start.py 30s\nPreToolUse \"^Bash$\" check 1m0s"},
		"all fields": {"hooks.json",
			`{"description": "ours", "hooks": {"PreToolUse": [{"matcher": "mcp__memory__.*", "hooks": [
			{"type": "command", "command": "node", "args": ["guard.js", "a b"], "timeout": 1.5, "onFailure": "block", "if": "Bash(git push *)"},
			{"type": "command", "command": "log", "async": true}]}]}}`,
			"PreToolUse \"mcp__memory__.*\" node guard.js a b 1.5s block if Bash(git push *)\nPreToolUse " +
				"\"mcp__memory__.*\" log 1m0s async"},
		"nothing":           {"settings.json", `{}`, ""},
		"a byte order mark": {"hooks.json", "\xef\xbb\xbf{\"hooks\": {}}", ""},
		"two groups, one event": {"hooks.json",
			`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "a"}]}, {"hooks": [{"type": "command", "command": "b"}]}]}}`, "Stop \"\" a 1m0s\nStop \"\" b 1m0s"},
	} {
		p := hooks.Parse(ext.File{Name: c.file, Data: []byte(c.data)})
		if got := strings.Join(described(p.Hooks), "\n"); got != c.want || len(p.Mistakes) > 0 || len(p.Lost) > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\nmistakes: %v", name, got, c.want, p.Mistakes)
		}
	}
	if p := hooks.Parse(ext.File{Name: "settings.json", Data: []byte(`{"disableAllHooks": true}`)}); !p.Disabled {
		t.Error("disableAllHooks has no effect")
	}
}

// A mistake is told with its line and with what is supported, and the other hooks of the file are
// used. What loses a guard is told apart.
func TestM9_Mistakes(t *testing.T) {
	const good = `{"hooks": [{"type": "command", "command": "good"}]}`
	for part, want := range map[string]struct {
		text string
		lost bool
	}{
		`"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "is it safe?"}]}]`:                        {"hooks of the type prompt are not supported", true},
		`"PostToolUse": [{"hooks": [{"type": "http", "url": "http://x"}]}]`:                               {"hooks of the type http are not supported", false},
		`"PreToolUse": [{"hooks": [{"type": "command"}]}]`:                                                {"has no command", true},
		`"PreToolUse": [{"type": "command", "command": "x"}]`:                                             {"type must stand inside of hooks", true},
		`"PreToolUse": {"matcher": "Bash"}`:                                                               {"PreToolUse must be an array", true},
		`"PreToolUse": ["x"]`:                                                                             {"must have objects", true},
		`"PreToolUse": [{"matcher": {"tools": ["Bash"]}, "hooks": []}]`:                                   {"matcher must be a string", true},
		`"PreToolUse": [{"matcher": "^(?!Read)", "hooks": [{"type": "command", "command": "x"}]}]`:        {"without look-ahead", true},
		`"PreToolUse": [{"matcher": "bash", "hooks": [{"type": "command", "command": "x"}]}]`:             {"the name is Bash", false},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": ["x"]}]}]`:                              {"command must not be an array", true},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]`:                {"timeout must be a number of seconds", true},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeout": 60000}]}]`:              {"in seconds and at most 600", false},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "args": ["-v", null]}]}]`:          {"args must be an array of strings", true},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "timeOut": 5}]}]`:                  {"timeOut is not known", false},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "onFailure": "explode"}]}]`:        {`onFailure must be "block"`, true},
		`"Stop": [{"hooks": [{"type": "command", "command": "x", "async": true, "onFailure": "block"}]}]`: {"a hook with async cannot block", false},
		`"PreToolUse": [{"hooks": [{"type": "command", "command": "x", "shell": "powershell"}]}]`:         {"the shell must be", true},
		`"SessionEnd": [{"hooks": [{"type": "command", "command": "x", "timeout": 61}]}]`:                 {"in seconds and at most 60,", false},
		`"Stop": [{"hooks": [{"type": "command", "command": "x", "if": "Bash(git *)"}]}]`:                 {"if is about tool calls", true},
		`"preToolUse": []`:  {"must be written PreToolUse", true},
		`"BeforeTool": []`:  {"there is no event BeforeTool here", false},
		`"PreToolUses": []`: {"did you mean PreToolUse", false},
	} {
		data := "{\n\"hooks\": {\n" + part + ",\n\"Notification\": [" + good + "]}}"
		p := hooks.Parse(ext.File{Name: "hooks.json", Data: []byte(data)})
		if !slices.ContainsFunc(p.Hooks, func(h hooks.Hook) bool { return h.Command == "good" }) {
			t.Errorf("%s: the other hook is not used", part)
		}
		if len(p.Mistakes) != 1 || !strings.Contains(p.Mistakes[0].Error(), want.text) ||
			!strings.HasPrefix(p.Mistakes[0].Error(), "hooks.json, line 3: ") || (len(p.Lost) > 0) != want.lost {
			t.Errorf("%s: %v, lost %v; want %q", part, p.Mistakes, p.Lost, want.text)
		}
	}
	for data, want := range map[string]string{"[]": "must be an object", "{\n\"hooks\"": "ends too early",
		`{"PreToolUse": []}`: "inside of hooks", `{"hooks": []}`: "must be an object",
		`{"hoks": {}}`: "hoks is not known", "{\"a\": \"" + strings.Repeat("x",
			ext.MaxFile) + "\"}": "more than 1 MiB"} {
		if p := hooks.Parse(ext.File{Name: "hooks.json", Data: []byte(data)}); len(p.Mistakes) != 1 ||
			!strings.Contains(p.Mistakes[0].Error(), want) {
			t.Errorf("%.30s: %v, want %q", data, p.Mistakes, want)
		}
	}
}

func FuzzM9_Parse(f *testing.F) {
	f.Add([]byte(`{"hooks": {"PreToolUse": [{"matcher": "Bash|mcp__.*", "hooks": [{"type": "command", "command": "x", "args": ["y"], "timeout": 1e3, "async": true}]}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := hooks.Parse(ext.File{Name: "hooks.json", Data: data})
		for i := range p.Hooks {
			if h := &p.Hooks[i]; strings.TrimSpace(h.Command) == "" || h.Timeout <= 0 || h.Timeout > 10*time.Minute ||
				h.Line < 1 {
				t.Errorf("%+v", h)
			}
		}
		if !json.Valid(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) && len(p.Mistakes) == 0 {
			t.Error("it is not JSON, and there is no mistake")
		}
	})
}
