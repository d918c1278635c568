package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// outputTurns has a model that thinks, runs a command with a long output, one that fails, one that
// prints little and one with a long line.
func outputTurns() []fakellm.Turn {
	shell := func(command string) fakellm.Call { return use("shell", map[string]any{"command": command}) }
	return []fakellm.Turn{
		{Thinking: "**Looking around**\n\nThe list comes first, the tests second.",
			Calls: []fakellm.Call{shell("for i in $(seq 1 30); do echo row $i; done")}},
		{Calls: []fakellm.Call{shell("for i in $(seq 101 130); do echo row $i >&2; done; exit 3")}},
		{Calls: []fakellm.Call{shell("printf 'one\\ntwo\\n'; printf '\\033[31mred\\033[0m'")}},
		{Calls: []fakellm.Call{shell("head -c 3000 /dev/zero | tr '\\0' x; echo the end")}},
		say("Done."),
	}
}

// What a command printed is seen below its call, folded; a key and a command of the conversation
// show all of it, and what the model thought.
func TestX1_OutputInChat(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, outputTurns()...)
	h := chatHome(t, url)
	s := onScreen(t, chatting(h, "--yes"), 80, 50)
	s.expect(ready)
	s.send("go")
	s.expect("5 turns")
	for _, want := range []string{
		"thought for 0s: Looking around (Ctrl-O, /output 1)\n",
		"  row 1\n  row 2\n  row 3\n  … 24 more lines (Ctrl-O, /output 2)\n  row 28\n  row 29\n  row 30\n",
		"  row 101\n  row 102\n  row 103\n  … 17 more lines (Ctrl-O, /output 3)\n  row 121\n",
		"  row 129\n  row 130\n✓ shell", "  one\n  two\n  red\n✓ shell",
		"xxx…\n  … the lines are longer (Ctrl-O, /output 4)\n",
	} {
		if text := s.all(); !strings.Contains(text, want) {
			t.Errorf("the screen lacks %q:\n%s", want, text)
		}
	}
	s.press("C-o")
	s.expect("xthe end")
	s.press("C-o")
	s.expect("row 115")
	s.send("/output 2")
	s.expect("row 15")
	s.send("/output 1")
	s.expect("The list comes first, the tests second.")
	s.send("/output 9")
	s.expect("there are /output 1 to 4")
	s.press("C-o")
	s.expect("there are /output 1 to 4")
}

// The same is seen when a single task runs on a terminal. A pipe gets none of it.
func TestX1_OutputInRun(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, outputTurns()...)
	p := startOnTerminal(t, newHome(t, url).on("TERM=xterm-256color NO_COLOR=1", "run", "--yes", "go"))
	text, code := p.wait()
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"thought for 0s: Looking around\n",
		"  row 3\n  … 24 more lines\n  row 28\n", "  row 103\n  … 17 more lines\n  row 121\n", "  row 130\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal never gets %q:\n%q", want, text)
		}
	}
	url, _ = serve(t, nil, outputTurns()...)
	if out := newHome(t, url).run(0, "run", "--yes", "go"); strings.Contains(out.stderr, "row 1") ||
		strings.Contains(out.stderr, "thought") {
		t.Errorf("the pipe gets %s", out.stderr)
	}
}

// On a terminal on which nothing is drawn again, the commands of a conversation show the same.
func TestX1_OutputInLines(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, outputTurns()...)
	h := chatHome(t, url)
	cmd := chatting(h, "--yes")
	cmd.Env = append(cmd.Env, "TERM=dumb")
	p := startOnTerminal(t, cmd)
	p.expect("> ")
	p.write("go\n")
	p.expect("… 24 more lines (Ctrl-O, /output 2)\n  row 28\n")
	p.expect("5 turns")
	p.write("/output 2\n")
	p.expect("row 15\n")
	p.write("/quit\n")
	p.wait()
}
