package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// gated returns the home of a session whose command waits at a gate, and a function that opens the
// gate.
func gated(t *testing.T, command string) (h *home, open func()) {
	t.Helper()
	return gatedIn(t, t.TempDir(), command, "I *wait*.")
}

// gatedIn does the same in a directory. The model says a text first.
func gatedIn(t *testing.T, dir, command, first string) (h *home, open func()) {
	t.Helper()
	url, _ := serve(t, nil, say(first, use("shell", map[string]any{"command": command})),
		say("", use("write_file", map[string]any{"file_path": "new", "content": "one\ntwo\n"})),
		fakellm.Turn{Text: "It is **done**:\n\n- all of it\n"})
	h = newHome(t, url)
	h.dir = dir
	gate := filepath.Join(h.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	return h, func() {
		t.Helper()
		f, err := os.OpenFile(gate, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// on returns a command of the home for a terminal of a kind.
func (h *home) on(kind string, args ...string) *exec.Cmd {
	cmd := h.command(args...)
	cmd.Env = append(cmd.Env, strings.Fields(kind)...)
	return cmd
}

// A terminal shows what runs. The line is erased before other text and at the end, and the answer
// is printed once, as Markdown.
func TestN4_LiveLineOnATerminal(t *testing.T) {
	h, open := gated(t, "cat gate")
	p := startOnTerminal(t, h.on("TERM=xterm-256color NO_COLOR=1", "run", "--yes", "the task"))
	p.expect("shell cat gate · ")
	open()
	screen, code := p.wait()
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, screen)
	}
	screen = strings.ReplaceAll(screen, "\r\n", "\n")
	for _, want := range []string{"I wait.\n", "✓ shell cat gate ", "✓ write_file new (created) ",
		"  1 + one\n  2 + two\n", "It is done:\n", "\n• all of it\n"} {
		if !strings.Contains(screen, want) {
			t.Errorf("the terminal never gets %q:\n%q", want, screen)
		}
	}
	if !erased(screen) {
		t.Errorf("the last line is not erased: %q", screen)
	}
	if strings.Count(screen, "• all of it") != 1 {
		t.Errorf("the answer is not there once:\n%q", screen)
	}
}

// A pipe gets no live line, no diff and no Markdown that is rendered, and neither does a terminal
// that is dumb, read aloud, or looked at by nobody.
func TestN4_NoLiveLine(t *testing.T) {
	t.Parallel()
	h, open := gated(t, "cat gate")
	cmd := h.on("TERM=xterm-256color", "run", "--yes", "the task")
	go open()
	out := runCommand(t, cmd)
	if out.code != 0 || out.stdout != "It is **done**:\n\n- all of it\n\n" || strings.Contains(out.stderr, "\x1b") ||
		spinner.MatchString(out.stderr) ||
		!strings.Contains(out.stderr, "I *wait*.\n") || strings.Contains(out.stderr, "+ one") {
		t.Errorf("exit code %d, stdout %q, stderr %q", out.code, out.stdout, out.stderr)
	}
	for _, kind := range []string{"TERM=dumb", "TERM=xterm ATTRACTOR_ACCESSIBLE=1", "TERM=xterm ACCESSIBLE=1",
		"TERM=xterm CI=true", ""} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			h, open := gated(t, "sleep 1; cat gate") // longer than it takes to draw a line
			p := startOnTerminal(t, h.on(kind, "run", "--yes", "the task"))
			go open()
			screen, code := p.wait()
			if code != 0 || spinner.MatchString(screen) || strings.Contains(screen, "\x1b[J") ||
				strings.Contains(screen, "\a") {
				t.Errorf("exit code %d, screen %q", code, screen)
			}
		})
	}
}

// Standard output that is a terminal, beside a file of progress, shows the answer as Markdown.
func TestN4_AnswerOnATerminal(t *testing.T) {
	h, open := gated(t, "cat gate")
	cmd := h.on("TERM=xterm", "run", "--yes", "the task")
	file, err := os.Create(filepath.Join(h.home, "progress"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	p := startOnTerminal(t, cmd)
	go open()
	if screen, code := p.wait(); code != 0 || screen != "It is \x1b[1mdone\x1b[0m:\n\n• all of it\n" {
		t.Errorf("exit code %d, screen %q", code, screen)
	}
}

// A question rings once. While it is open nothing moves, and after the answer the line is back.
func TestN4_AQuestionStopsTheLine(t *testing.T) {
	h, open := gated(t, "cat gate; touch x")
	p := startOnTerminal(t, h.on("TERM=xterm NO_COLOR=1", "run", "the task"))
	p.expect("\a")
	p.expect("Allow it? ")
	p.write("y\n")
	if above := p.expect("shell cat gate; touch x · "); !strings.HasPrefix(above, "y\n\x1b") {
		t.Errorf("after the question comes %q", above)
	}
	open()
	p.expect("Allow it? ") // about the file
	p.write("n\n")
	screen, code := p.wait()
	if code != 0 || strings.Count(screen, "\a") != 2 {
		t.Errorf("exit code %d, %d bells", code, strings.Count(screen, "\a"))
	}
}

// A signal ends the session without the line, and so does a second one.
func TestN4_SignalsEraseTheLine(t *testing.T) {
	h, _ := gated(t, "cat gate")
	p := startOnTerminal(t, h.on("TERM=xterm", "run", "--yes", "the task"))
	p.expect("shell cat gate")
	p.write("\x03")
	screen, code := p.wait()
	if code != 130 || !erased(screen) || !strings.Contains(screen, "stopped by a signal") {
		t.Errorf("exit code %d, screen %q", code, screen)
	}
}

// A second signal, which ends the program at once, leaves no line behind.
func TestN4_ASecondSignalErasesTheLine(t *testing.T) {
	h, _ := gated(t, "trap '' INT TERM; cat gate || cat gate || cat gate")
	p := startOnTerminal(t, h.on("TERM=xterm", "run", "--yes", "the task"))
	p.expect("shell trap")
	p.write("\x03")
	p.expect("a second signal stops at once")
	p.expect("shell trap")
	p.write("\x03")
	screen, code := p.wait()
	if code != 130 || !erased(screen) {
		t.Errorf("exit code %d, screen %q", code, screen)
	}
}

// Text of the model, a command or a file acts on no terminal, also as Markdown, in diffs and in the
// live line.
func TestN4_HostileTextOnAScreen(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J\x1b]0;title\a\x1b[5;5H\u202e\u009b2J &#27;[2J &#x9b;2J &#8238; [x](\x1b[2J \"\x1b[2J\") " +
		"`\x1b[2J`"
	url, _ := serve(t, nil, say(hostile+"\n\n|a|b|\n|-|-|\n|"+hostile+"|"+hostile+"|\n",
		use("write_file", map[string]any{"file_path": "a" + hostile[:12], "content": hostile}),
		use("shell", map[string]any{"command": "sleep 1 # " + hostile})),
		fakellm.Turn{Text: "# " + hostile + "\n```\n" + hostile + "\n```\n"})
	h := newHome(t, url)
	p := startOnTerminal(t, h.on("TERM=xterm", "run", "--yes", hostile))
	p.expect("sleep 1 # ")
	screen, code := p.wait()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, sequence := range []string{"\x1b[2J", "\x1b]", "\a", "\x1b[5;5H", "\u202e", "\u009b"} {
		if strings.Contains(screen, sequence) {
			t.Errorf("the terminal gets %q:\n%q", sequence, screen)
		}
	}
	if !strings.Contains(screen, `\u{1b}[2J`) {
		t.Errorf("the text is not shown: %q", screen)
	}
}
