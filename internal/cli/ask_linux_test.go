package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// askingRun returns a run that asks, with a model whose turns are these.
func askingRun(t *testing.T, h *home, args ...string) *exec.Cmd {
	t.Helper()
	cmd := attractorCommand(t, append([]string{"run", "--no-journal", "--dir", h.dir}, args...)...)
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+h.url)
	return cmd
}

// touch returns a call that makes a file.
func touch(name string) fakellm.Call {
	return use("shell", map[string]any{"command": "echo > " + name})
}

// made returns the names of the files in the directory.
func (h *home) made() string {
	h.Helper()
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		h.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return strings.Join(names, " ")
}

// Lines and parts of lines that were typed before the question appeared do not answer it.
func TestL11_TypedBeforeTheQuestion(t *testing.T) {
	thinking, think := make(chan struct{}), make(chan struct{})
	script := fakellm.Script(say("", touch("a")), say("Done."))
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() == 0 {
			close(thinking)
			<-think
		}
		return script(r)
	}, fakellm.Options{}))
	t.Cleanup(web.Close)
	h := newHome(t, web.URL)
	p := startOnTerminal(t, askingRun(t, h, "make a"))
	<-thinking
	p.write("y\ny\ny\ny")
	p.expect("y\ny\ny\ny") // the terminal's echo
	close(think)
	p.expect(render.AskLabel)
	p.write("\n") // ends the last of the lines that were typed too early, if the terminal still has it
	p.expect(render.AskLabel)
	p.write("n not this\n")
	if screen, code := p.wait(); code != 0 || h.made() != "" {
		t.Errorf("exit code %d, files %q, want none:\n%s", code, h.made(), screen)
	}
}

// Each answer does what it says. What is no answer is asked for again, and the end of the input
// refuses.
func TestL3_Answers(t *testing.T) {
	for name, c := range map[string]struct {
		typed []string // at each question
		made  string
		shown string
	}{
		"yes":          {[]string{"y\n"}, "a", ""},
		"YES":          {[]string{" YES \n"}, "a", ""},
		"no":           {[]string{"n\n"}, "", "the user said no"},
		"no, because":  {[]string{"no use b instead\n"}, "", "the user said no. use b instead"},
		"nothing":      {[]string{"\n", "y\n"}, "a", "Please type one of the letters"},
		"unclear":      {[]string{"ye\n", "yes please\n", "all\n", "n\n"}, "", "Please type one of the letters"},
		"never clear":  {[]string{"\n", "\n", "\n", "\n", "\n"}, "", "in 5 tries"},
		"end of input": {[]string{"\x04"}, "", "nobody answered"},
		"no Enter":     {[]string{"y\x04\x04"}, "", "nobody answered"},
		"arrows": {[]string{"\x1b[Ay\n", "\x1b[200~y\x1b[201~\n", "ｙ\n", "n \x1b]0;x\a\n"}, "",
			`the user said no. \u{1b}]0;x\u{7}`},
		"edited line":   {[]string{"n\x7fy\n"}, "a", ""}, // n, backspace, y
		"a killed line": {[]string{"n this\x15y\n"}, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, server := serve(t, nil, say("", touch("a")), say("Done."))
			h := newHome(t, url)
			cmd := askingRun(t, h, "make a")
			cmd.Env = append(cmd.Env, "NO_COLOR=1", "TERM=dumb")
			p := startOnTerminal(t, cmd)
			for _, line := range c.typed {
				p.expect(render.AskLabel)
				p.write(line)
			}
			screen, code := p.wait()
			if told := lastResults(server.Requests()[1].Messages); code != 0 || h.made() != c.made ||
				!strings.Contains(screen+told, c.shown) {
				t.Errorf("exit code %d, files %q, want %q and %q:\n%s\n%s", code, h.made(), c.made, c.shown, screen,
					told)
			}
			if strings.Contains(screen, "\x1b") {
				t.Errorf("the dumb terminal receives an escape sequence:\n%q", screen)
			}
		})
	}
}

// Of a text of several lines that was pasted only the first line counts, and only for the question
// that was there.
func TestL11_PastedLines(t *testing.T) {
	url, _ := serve(t, nil, say("", touch("a"), touch("b")), say("Done."))
	h := newHome(t, url)
	p := startOnTerminal(t, askingRun(t, h, "make a and b"))
	p.expect(render.AskLabel)
	p.write("see below:\ny\na\ny\n")
	p.expect("Please type one of the letters")
	p.expect(render.AskLabel)
	p.write("y\ny\ny\n")
	p.expect("echo > b")
	p.expect(render.AskLabel)
	p.write("n\n")
	if screen, code := p.wait(); code != 0 || h.made() != "a" || strings.Count(screen, "The agent wants to run:") != 2 {
		t.Errorf("exit code %d, files %q:\n%s", code, h.made(), screen)
	}
}

// The person closes the terminal instead of answering: the run ends, and the call does not run.
func TestL11_TheTerminalGoesAway(t *testing.T) {
	url, _ := serve(t, nil, say("", touch("a")), say("Done."))
	h := newHome(t, url)
	p := startOnTerminal(t, askingRun(t, h, "make a"))
	p.expect(render.AskLabel)
	p.write("y") // without Enter
	p.expect("y")
	if err := p.ours.Close(); err != nil {
		t.Fatal(err)
	}
	err := p.cmd.Wait()
	if code := p.cmd.ProcessState.ExitCode(); code != 129 || h.made() != "" {
		t.Errorf("exit code %d, %v, files %q", code, err, h.made())
	}
}

// What a person allows always is not asked about again in the session, and what is kept not in
// later ones either.
func TestL3_AllowedAndKept(t *testing.T) {
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "touch a"})),
		say("", use("shell", map[string]any{"command": "touch b && touch c"})), say("Done."))
	h := newHome(t, url)
	for _, c := range []struct {
		name, answer string
		questions    int
	}{{"once", "y\n", 2}, {"always", "a\n", 1}, {"asked again, and kept", "p\n", 1}, {"kept", "n\n", 0}} {
		p := startOnTerminal(t, askingRun(t, h, "make files"))
		questions := 0
		for p.next(render.AskLabel) != "" {
			questions++
			p.write(c.answer)
		}
		screen, code := p.wait()
		if code != 0 || questions != c.questions || h.made() != "a b c" {
			t.Errorf("%s: exit code %d, %d questions, want %d, files %q:\n%s", c.name, code, questions, c.questions,
				h.made(), screen)
		}
		if c.questions > 0 && !strings.Contains(screen, "\n       Bash(touch:*)\n") {
			t.Errorf("%s: the question does not show the pattern:\n%s", c.name, screen)
		}
		kept := filepath.Join(h.home, ".local", "state", "attractor", "rules.json")
		if told := strings.Contains(strings.ReplaceAll(screen, "\n    ┊ ", ""),
			"Kept in "+kept); told != (c.answer == "p\n") {
			t.Errorf("%s: told %v:\n%s", c.name, told, screen)
		}
		if info, err := os.Stat(kept); (err == nil) != (c.answer == "p\n" || c.questions == 0) || err == nil &&
			info.Mode().Perm() != 0o600 {
			t.Errorf("%s: the file of kept rules: %v, %v", c.name, info, err)
		}
		for _, name := range strings.Fields(h.made()) {
			if err := os.Remove(filepath.Join(h.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Without a terminal, a file of rules decides. What it does not allow is refused, and the model
// learns why.
func TestL3_RulesWithoutATerminal(t *testing.T) {
	url, server := serve(t, nil, say("", touch("a"), use("shell", map[string]any{"command": "touch b"}),
		use("shell", map[string]any{"command": "git push"})), say("Done."))
	h := newHome(t, url)
	file := filepath.Join(h.home, "rules.json")
	if err := os.WriteFile(file,
		[]byte(`{"permissions": {"allow": ["Bash(touch:*)"], "deny": [{"rule": "Bash(git push:*)", "reason": "people push"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "run", "--no-journal", "--rules", file, "make files")
	told := lastResults(server.Requests()[1].Messages)
	if h.made() != "b" || !strings.Contains(told, "nobody is there") || !strings.Contains(told, "people push") {
		t.Errorf("files %q; the model is told\n%s", h.made(), told)
	}
	h.run(0, "run", "--no-journal", "--rules", file, "--yes", "make files")
	if told := lastResults(server.Requests()[3].Messages); h.made() != "a b" || !strings.Contains(told, "people push") {
		t.Errorf("with --yes: files %q; the model is told\n%s", h.made(), told)
	}
}

// Ctrl-C at a question ends the run, and the call does not run.
func TestL11_InterruptAtAQuestion(t *testing.T) {
	url, _ := serve(t, nil, say("", touch("a")), say("Done."))
	h := newHome(t, url)
	p := startOnTerminal(t, askingRun(t, h, "make a"))
	p.expect(render.AskLabel)
	p.write("\x03")
	if screen, code := p.wait(); code != 130 || h.made() != "" {
		t.Errorf("exit code %d, files %q:\n%s", code, h.made(), screen)
	}
}

// The question comes to the terminal even if all streams are pipes.
func TestL3_PipesAndATerminal(t *testing.T) {
	url, _ := serve(t, nil, say("", touch("a")), say("Done."))
	h := newHome(t, url)
	cmd := askingRun(t, h, "-")
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("make a"), &stdout, &stderr
	p := startOnTerminal(t, cmd)
	if above := p.expect(render.AskLabel); !strings.Contains(above, "echo > a") {
		t.Errorf("the terminal shows %q", above)
	}
	p.write("y\n")
	screen, code := p.wait()
	if code != 0 || h.made() != "a" || stdout.String() != "Done.\n" || strings.Contains(stderr.String(),
		render.AskLabel) {
		t.Errorf("exit code %d, files %q\n%s\n%s\n%s", code, h.made(), screen, &stdout, &stderr)
	}
}

// The whole command is shown, however long it is, and no row of it begins where the question does.
func TestL11_LongCommandsAreShownWhole(t *testing.T) {
	lines := make([]string, 3000)
	for i := range lines {
		lines[i] = "true " + strings.Repeat("x", i%200)
	}
	lines[2900] = "echo > hidden\u200b\u202efile\a"
	script := strings.Join(lines, "\n")
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": script})), say("Done."))
	h := newHome(t, url)
	p := startOnTerminal(t, askingRun(t, h, "make a"))
	above := p.expect(render.AskLabel)
	p.write("n\n")
	if _, code := p.wait(); code != 0 || h.made() != "" {
		t.Errorf("exit code %d, files %q", code, h.made())
	}
	lines[2900] = `echo > hidden\u{200b}\u{202e}file\u{7}`
	for row := range strings.Lines(above[strings.Index(above, "The agent wants to"):]) {
		if columns := render.Width(strings.TrimRight(row, "\r\n")); columns >= 80 {
			t.Errorf("the terminal breaks a row of %d columns: %q", columns, row)
		}
	}
	above = strings.ReplaceAll(above, "\n    ┊ ", "")
	for i, line := range lines {
		if !strings.Contains(above, "\n  "+line+"\n") {
			t.Fatalf("line %d is missing: %q", i+1, line)
		}
	}
	if !strings.Contains(above, "these 3000 lines") {
		t.Errorf("the number of lines is missing: %.200q", above)
	}
}

// labels is a writer that reports each question on a channel.
type labels chan struct{}

func (l labels) Write(p []byte) (int, error) {
	if bytes.HasSuffix(p, []byte(render.AskLabel)) {
		l <- struct{}{}
	}
	return len(p), nil
}

// A line that is typed after a question was canceled does not answer the next one.
func TestL11_ACanceledQuestionTakesNoAnswer(t *testing.T) {
	ours, theirs := openTerminal(t)
	asked := make(labels)
	a := newConsole(theirs, asked)
	answer := make(chan permit.Answer)
	ask := func(ctx context.Context, command string) {
		got, err := a.approve(ctx, permit.Question{Request: tool.Request{Access: tool.Access{Command: command}}})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		answer <- got
	}
	ctx, cancel := context.WithCancel(t.Context())
	go ask(ctx, "first")
	<-asked
	cancel()
	<-answer
	if _, err := io.WriteString(ours, "y\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(ours, make([]byte, len("y\r\n"))); err != nil { // the echo: the terminal has the line
		t.Fatal(err)
	}
	a.withdrawn = time.Time{} // the second question comes much later
	go ask(t.Context(), "second")
	<-asked
	if _, err := io.WriteString(ours, "n\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got.Verdict != tool.Deny || got.Reason == "" {
		t.Errorf("the second question got %+v", got)
	}
	if a.stale != nil {
		t.Error("the read of the canceled question goes on")
	}
}

// The same holds where a read of the terminal cannot be ended.
func TestL11_ACanceledQuestionThatGoesOnReading(t *testing.T) {
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	asked := make(labels)
	a := newConsole(in, asked)
	answer := make(chan permit.Answer)
	ask := func(ctx context.Context) {
		got, err := a.approve(ctx, permit.Question{Request: tool.Request{Access: tool.Access{Command: "make"}}})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		answer <- got
	}
	ctx, cancel := context.WithCancel(t.Context())
	go ask(ctx)
	<-asked
	cancel()
	<-answer
	a.withdrawn = time.Time{} // the next question comes much later
	go ask(t.Context())
	<-asked
	for _, line := range []string{"y\n", "n\n"} {
		if _, err := io.WriteString(keyboard, line); err != nil {
			t.Fatal(err)
		}
		if line == "y\n" {
			<-asked // again
		}
	}
	if got := <-answer; got.Verdict != tool.Deny {
		t.Errorf("the second question got %+v", got)
	}
}
