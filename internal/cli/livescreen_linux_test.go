package cli

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/internal/peer"
)

// lastScreen returns what a session leaves on the screen, without what differs from run to run.
const lastScreen = `claude-sonnet-5-5 · DIR · SESSION
I wait.
✓ shell cat gate; echo long long long long long long long long long long long long long long long long long … TIME
✓ write_file new (created) TIME
  1 + one
  2 + two
It is done:

• all of it
done · 3 turns · 2 tool calls · N tokens · $N · TIME
ended with 0`

// The screen of a real terminal while a command runs, and at the end, in two sizes.
func TestN4_Screens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 50}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			h, open := gated(t, "cat gate; echo "+strings.Repeat("long ", 20)+"> /dev/null")
			s := onScreen(t, keptOpen(h.command("run", "--yes", "the task")), size[0], size[1])
			s.expect("cat gate; echo")
			lines := strings.Split(s.text(), "\n")
			last := lines[len(lines)-1]
			form := regexp.MustCompile(
				`^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] shell cat gate; echo (long )+(lon?g?)?… · [0-9ms ]+( of [0-9ms ]+)? · ↑[0-9.k]+ ↓[0-9.k]+ · \$[0-9.]+$`)
			if !form.MatchString(last) || len([]rune(last)) >= size[0] ||
				len(spinner.FindAllString(s.text(), -1)) != 1 {
				t.Errorf("the screen is\n%s", s.text())
			}
			open()
			s.expect("ended with 0")
			want := lastScreen
			if size[0] == 80 { // the line of the call is wrapped at a word
				want = strings.Replace(want, strings.Repeat("long ", 11), strings.Repeat("long ", 10)+"long\n  ", 1)
			}
			if diff := cmp.Diff(want, plainScreen(s.all(), h)); diff != "" {
				t.Errorf("the last screen: %s", diff)
			}
		})
	}
}

// A terminal that becomes narrower or wider keeps one live line, which fits, and the text above it.
func TestN4_Resize(t *testing.T) {
	t.Parallel()
	h, open := gatedIn(t, t.TempDir(), "cat gate; echo "+strings.Repeat("long ", 40), strings.Repeat("- a line\n", 60))
	s := onScreen(t, keptOpen(h.command("run", "--yes", "the task")), 120, 24)
	s.expect("cat gate; echo")
	for _, width := range []int{50, 30, 100, 20} {
		s.resize(width, 24)
		s.until(fmt.Sprintf("a live line for %d columns", width), func() bool {
			lines := strings.Split(s.text(), "\n")
			last := []rune(lines[len(lines)-1])
			return spinner.MatchString(string(last)) && len(last) < width && len(last) > width-8 &&
				last[len(last)-1] != '…' && len(spinner.FindAllString(s.all(), -1)) == 1
		})
	}
	open()
	s.expect("ended with 0")
	if all := s.all(); spinner.MatchString(all) || strings.Count(all, "• a line") != 60 {
		t.Errorf("the screen is\n%s", all)
	}
}

// A program that Ctrl-Z has stopped goes on below what was written meanwhile.
func TestN4_Suspend(t *testing.T) {
	h, open := gatedIn(t, t.TempDir(), "cat gate", "I *wait*.")
	run := h.command("run", "--yes", "the task")
	shell := *run
	shell.Path = peer.Need(t, "bash")
	shell.Args = append([]string{"bash", "--norc", "-i", "-c",
		`"$@"; echo "stopped with $?"; read; fg; echo "ended with $?"; read`, "-", run.Path}, run.Args[1:]...)
	s := onScreen(t, &shell, 80, 24)
	// A second later its process has started. One that is stopped between fork and exec keeps the
	// kernel from stopping its parent.
	s.until("a command that runs",
		func() bool { return regexp.MustCompile(`shell cat gate · [1-9]`).MatchString(s.text()) })
	s.press("C-z")
	s.expect("stopped with 148")
	s.press("Enter")
	s.until("a live line below", func() bool {
		_, below, _ := strings.Cut(s.text(), "stopped with 148")
		return spinner.MatchString(below)
	})
	open()
	s.expect("ended with 0")
	_, below, _ := strings.Cut(s.text(), "stopped with 148")
	if spinner.MatchString(below) || !strings.Contains(below, "• all of it") || !strings.Contains(s.text(), "I wait.") {
		t.Errorf("the screen is\n%s", s.text())
	}
}

// keptOpen returns a command that keeps the terminal open when it has ended, so that its last
// screen can be looked at.
func keptOpen(cmd *exec.Cmd) *exec.Cmd {
	kept := *cmd
	kept.Path = "/bin/sh"
	kept.Args = append([]string{"sh", "-c", `"$@"; echo "ended with $?"; read wait`, "-", cmd.Path}, cmd.Args[1:]...)
	return &kept
}
