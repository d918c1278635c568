package command

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// terminal is a terminal in tmux, which interprets what a command writes as a real one does.
type terminal struct {
	*testing.T
	tmux, socket string
}

// inTerminal starts a shell command in a terminal of that size.
func inTerminal(h *home, width, height int, args ...string) *terminal {
	h.Helper()
	dir, err := os.MkdirTemp("/tmp", "fl") // sockets have short names
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { os.RemoveAll(dir) })
	s := &terminal{h.T, peer.Need(h.T, "tmux"), filepath.Join(dir, "s")}
	cmd := h.command(args...)
	words := []string{"-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c",
		h.dir, "env", "-i", "TERM=screen-256color", "LC_ALL=C.UTF-8"}
	words = append(append(words, cmd.Env...), "sh", "-c", `trap : INT; "$0" "$@"; echo "code $?"; exec sleep 60`,
		cmd.Path)
	s.do(append(words, args...)...)
	h.Cleanup(func() {
		h.write("go", "") // for what still runs
		s.do("kill-server")
	})
	return s
}

// do runs a command of tmux and returns what it prints.
func (s *terminal) do(args ...string) string {
	s.Helper()
	cmd := exec.Command(s.tmux, append([]string{"-u", "-S", s.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// text returns what is on the screen.
func (s *terminal) text() string { return strings.TrimRight(s.do("capture-pane", "-p"), "\n") }

// expect waits until all texts are on the screen, and returns what is there.
func (s *terminal) expect(texts ...string) string {
	s.Helper()
	var screen, missing string
	shown := func() bool {
		screen, missing = s.text(), ""
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				missing = text
			}
		}
		return missing == ""
	}
	if !await.Holds(shown) {
		s.Fatalf("there is no %q on the screen:\n%s", missing, screen)
	}
	return screen
}

// On a terminal the board shows what runs and how far everything is, at any width, and leaves only
// the lines about tasks that have ended.
func TestP2_Board(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	tasks := []map[string]any{{"id": "quick", "prompt": "task quick\n$ true"},
		{"id": "lost", "prompt": "task lost", "repo": map[string]any{"url": "file:///none"}}}
	for i := range 6 {
		tasks = append(tasks, map[string]any{"id": fmt.Sprint("slow", i),
			"prompt": fmt.Sprint("task slow", i, "\n$ until [ -e $HOME/go ]; do sleep 0.05; done")})
	}
	h.tasks(tasks...)
	s := inTerminal(h, 100, 20, "batch", "tasks.jsonl", "--yes", "--jobs", "4")
	screen := s.expect("✓ quick  ", "✗ lost  failed: ", "slow0 ", "slow3 ", "shell until [ -e $HOME/go ]",
		"2 of 8 · 1 not done · 2 waiting · $", "/min · about ")
	if strings.Contains(screen, "slow4") {
		t.Errorf("more tasks run than were allowed:\n%s", screen)
	}
	s.do("resize-window", "-x", "50", "-y", "12")
	s.expect("slow0 ", "2 of 8 · 1 not done · 2 waiting · $")
	h.write("go", "")
	screen = s.expect("7 of 8 tasks done · 1 not", "code 1")
	scrolled := s.do("capture-pane", "-p", "-J", "-S", "-") // the rows above the screen, too
	for i := range 6 {
		if strings.Count(scrolled, fmt.Sprintf("✓ slow%d  ", i)) != 1 {
			t.Errorf("slow%d is not told of once:\n%s", i, scrolled)
		}
	}
	if strings.Contains(screen, "of 8 · ") || strings.Contains(screen, "shell until") {
		t.Errorf("the board is still there:\n%s", screen)
	}
}

// Ctrl-C on the terminal gives the tasks back, a second one ends at once, and both leave the
// terminal as it was.
func TestP2_BoardInterrupted(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "slow",
		"prompt": "task slow\n$ touch $HOME/ran; until [ -e $HOME/go ]; do sleep 0.05; done"})
	s := inTerminal(h, 100, 20, "batch", "tasks.jsonl", "--yes")
	h.until("ran")
	s.expect("slow ", "0 of 1 · ")
	s.do("send-keys", "C-c")
	s.expect("stopping; a second signal stops at once")
	s.do("send-keys", "C-c")
	s.expect("code 130")
	if visible := strings.TrimSpace(s.do("display-message", "-p", "#{cursor_flag}")); visible != "1" {
		t.Error("the cursor is gone")
	}
}
