//go:build unix

package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// A person who forks a session behind an answer with calls is told whose results the fork has, and
// the model is told, too. What is wrong is told by flags and commands, and by no words of Go.
func TestX8_ForkInTheMiddleOfARound(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("shell", map[string]any{"command": "echo once >> log"}),
		use("shell", map[string]any{"command": "exit 3"})), fakellm.Turn{Text: "done"},
		fakellm.Turn{Text: "another way"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "do it")
	id := h.sessions()[0].ID
	out := h.run(0, "run", "--yes", "--fork", id+"@2", "do it otherwise")
	if !strings.Contains(out.stderr, "Turn 2 makes calls, so the fork has their results, too, which are turn 3. They "+
		"were run in the session "+id+" and not here") {
		t.Errorf("the person is told %s", out.stderr)
	}
	last := server.Requests()[len(server.Requests())-1]
	if n := strings.Count(string(last.Body), "Nothing of it was run here"); n != 2 ||
		strings.Contains(string(last.Body), "outcome is unknown") {
		t.Errorf("the model is told %d times: %s", n, last.Body)
	}
	if text := h.text("log"); text != "once\n" {
		t.Errorf("the call ran again: %q", text)
	}
	out = h.run(0, "run", "--yes", "--fork", id+"@3", "do it otherwise")
	if strings.Contains(out.stderr, "Turn 3") {
		t.Errorf("behind the results: %s", out.stderr)
	}
	for want, args := range map[string][]string{
		"there is no turn 9: the session has 4; pass --fork ID@TURN with a turn that attractor sessions show " +
			"ID lists": {"--fork", id + "@9", "x"},
		"the turn must be a number, from 1; to list the turns, run: attractor sessions show " +
			id: {"--fork", id + "@two", "x"},
		"to list sessions, run: attractor sessions list": {"--fork", "nix@2", "x"},
	} {
		out := h.run(exitUsage, append([]string{"run", "--yes"}, args...)...)
		if !strings.Contains(out.stderr, want) ||
			regexp.MustCompile(`agent[.:]|Submit|Resume|Continue|Fork\b|Options`).MatchString(out.stderr) {
			t.Errorf("%v: %s", args, out.stderr)
		}
	}
}

// A fork in a directory of its own belongs to that one: lists name it, and --continue finds it
// there and not in the directory of the session that it comes from. So does a fork of the fork.
func TestX8_ForkInADirectoryOfItsOwn(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say("one"), say("two"), say("three"), say("four"), say("five"))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "first")
	origin := h.sessions()[0].ID
	other := t.TempDir()
	h.run(0, "run", "--yes", "--fork", origin, "--dir", other, "otherwise")
	fork := h.sessions()[0]
	if fork.Dir != other || fork.ForkOf != origin {
		t.Errorf("the fork is %+v, not one in %s", fork, other)
	}
	h.run(0, "run", "--yes", "--continue", "--dir", other, "go on there")
	if newest := h.sessions()[0].ID; newest != fork.ID {
		t.Errorf("in %s, %s went on instead of %s", other, newest, fork.ID)
	}
	h.run(0, "run", "--yes", "--continue", "go on here")
	if newest := h.sessions()[0].ID; newest != origin {
		t.Errorf("in %s, %s went on instead of %s", h.dir, newest, origin)
	}
	h.run(0, "run", "--yes", "--fork", fork.ID, "once more")
	if again := h.sessions()[0]; again.Dir != other || again.ForkOf != fork.ID {
		t.Errorf("the fork of the fork is %+v, not one in %s", again, other)
	}
}
