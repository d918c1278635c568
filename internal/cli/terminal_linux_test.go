package cli

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/sanitize"
)

// hostileTexts returns texts that control a terminal or hide something on it: one of each class,
// and the shared cases if they are there.
func hostileTexts(t *testing.T) []string {
	t.Helper()
	texts := []string{"\x1b[31mred\x1b[8mconcealed", "\x1b]0;title\a", "\x1b]52;c;cHduZWQ=\a", "\x1b[6n", "\x9b31m",
		"\u009b31m", "over\rwritten", "back\b\b\bspace",
		"zero\u200bwidth", "bidi\u202eover", "tag\U000e0041", "bad\xff\xfe", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
		"\x1b_Gf=100;AAAA\x1b\\", "\x0e\x7f\x85", "\x1b[2J\x1b[H"}
	data, err := os.ReadFile("../../../shared/corpora/terminal_escape/cases.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Logf("the shared corpora are missing, so only %d texts are tested: %v", len(texts), err)
		return texts
	}
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c struct{ Hex string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(c.Hex)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(raw))
	}
	return texts
}

// runOnTerminal runs a command on a terminal, where a person allows all calls and chooses the first
// answer to each question. It returns what the terminal receives and the exit code.
func runOnTerminal(t *testing.T, cmd *exec.Cmd) (screen string, code int) {
	t.Helper()
	p := startOnTerminal(t, cmd)
	for {
		switch p.next(render.AskLabel, render.AnswerLabel) {
		case render.AskLabel:
			p.write("y\n")
		case render.AnswerLabel:
			p.write("1\n")
		default:
			return p.wait()
		}
	}
}

// checkHarmless checks that a screen received nothing that acts on a terminal except this program's
// own colours.
func checkHarmless(t *testing.T, what, screen string) {
	t.Helper()
	for _, colour := range []string{"\x1b[0m", "\x1b[m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m",
		"\x1b[36m"} {
		screen = strings.ReplaceAll(screen, colour, "")
	}
	if clean := sanitize.Text(screen); clean != screen {
		t.Errorf("%s: the terminal receives\n%q", what, screen)
	}
}

// The terminal receives only text, whatever a server, a model, a command or a file name contains.
func TestI10_TerminalGetsText(t *testing.T) {
	hostile := hostileTexts(t)
	all := strings.Join(hostile, " | ")
	name := "h" + strings.NewReplacer("/", "", "\x00", "", "\n", "").Replace(strings.Join(hostile[:16], ""))
	url, _ := serve(t, map[int]fakellm.Fault{5: {Kind: fakellm.FaultStatus, Status: 400,
		Body: string(mustJSON(t, map[string]any{"type": "error",
			"error": map[string]any{"type": "invalid_request_error", "message": all}}))}},
		say(all, use("shell", map[string]any{"command": "cat raw; ls; echo " + strings.ReplaceAll(all, "'", "")}),
			use(name, map[string]any{"x": all}),
			use("ask_user", map[string]any{"question": all + "\nAllow it?", "options": []string{all, "no"}}),
			use("read_file", map[string]any{"file_path": name})),
		fakellm.Turn{Thinking: all, Text: all}, fakellm.Turn{Text: all})
	h := newHome(t, url)
	h.dir = filepath.Join(h.dir, name)
	if err := os.Mkdir(h.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{"raw": all, name: all, "AGENTS.md": all} {
		if err := os.WriteFile(filepath.Join(h.dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	on := func(code int, args ...string) string {
		t.Helper()
		cmd := attractorCommand(t, args...)
		cmd.Dir = h.dir
		cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
			"ANTHROPIC_BASE_URL="+url)
		screen, got := runOnTerminal(t, cmd)
		if got != code {
			t.Errorf("%.40q: exit code %d, want %d\n%s", args, got, code, screen)
		}
		checkHarmless(t, strings.Join(args[:min(2, len(args))], " "), screen)
		return screen
	}
	if screen := on(0, "run", "--ask", "--dir", h.dir, "the task "+all); !strings.Contains(screen, `\u{1b}[2J`) ||
		!strings.Contains(screen, "\x1b[32m✓") {
		t.Errorf("the screen lacks the escaped text or the colours:\n%q", screen)
	}
	on(0, "run", "--yes", "--json", "--dir", h.dir, all)
	on(exitFailed, "run", "--yes", "--dir", h.dir, "the server refuses")
	id := h.sessions()[2].ID
	if screen := on(0, "sessions", "export", id); !strings.Contains(screen, `\u{1b}[2J`) {
		t.Errorf("the export lacks the text:\n%q", screen)
	}
	for _, args := range [][]string{{"sessions", "list"}, {"sessions", "list", "--json"}, {"sessions", "show", id},
		{"sessions", "events", id}, {"sessions", "replay", id},
		{"prompt", "--instructions", all}, {"tool", "shell", `{"command":"cat raw"}`},
		{"tool", "read_file", `{"file_path":"raw"}`}} {
		on(0, args...)
	}
	for _, args := range [][]string{{"sessions", "show", all}, {"run", "--dir", all, "x"},
		{"run", "--effort", "x", "--" + all}, {strings.ReplaceAll(all, " ", "")},
		{"run", "--instructions", "@" + all, "x"},
		{"models", "--provider", all}, {"tools", "--profile", all}, {"completion", all}, {"tool", "shell", all},
		{"run", "--provider", all, "x"}} {
		on(exitUsage, args...)
	}
	// A pipe receives unchanged text, except for errors and completions, because these are shown on
	// a terminal.
	for _, args := range [][]string{{"__complete", "sessions", "show", ""}, {"__complete", "run", "--resume", ""}} {
		if out := h.run(0, args...); !strings.Contains(out.stdout, id) ||
			sanitize.Text(out.stdout+out.stderr) != out.stdout+out.stderr {
			t.Errorf("%q: %q %q", args, out.stdout, out.stderr)
		}
	}
	if out := h.run(exitUsage, "run", "--dir", all, "x"); sanitize.Text(out.stderr) != out.stderr {
		t.Errorf("the error has control characters: %q", out.stderr)
	}
	if out := h.run(0, "sessions", "export", id); !strings.Contains(out.stdout, "\x1b[2J") {
		t.Errorf("the export into a pipe changes the text: %q", out.stdout)
	}
}

// mustJSON returns a value as JSON.
func mustJSON(t *testing.T, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// On a terminal the answer is shown once.
func TestI17_AnswerOnceOnATerminal(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "THE ANSWER."})
	cmd := attractorCommand(t, "run", "--yes", "--no-journal", "x")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL="+url)
	if screen, code := runOnTerminal(t, cmd); code != 0 || strings.Count(screen, "THE ANSWER.") != 1 {
		t.Errorf("exit code %d\n%s", code, screen)
	}
}
