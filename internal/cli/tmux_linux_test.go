package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// screen is a terminal in tmux, which interprets what a command writes as a real one does.
type screen struct {
	*testing.T
	tmux, dir string
	pid       int // of the command
}

// shortTemp returns a new directory whose name has always the same length, so that lines with it
// wrap always in the same place.
func shortTemp(t *testing.T) string {
	t.Helper()
	dir := fmt.Sprintf("/tmp/chat%09d", rand.IntN(1e9))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// onScreen starts a command on a terminal of that size.
func onScreen(t *testing.T, cmd *exec.Cmd, width, height int) *screen {
	t.Helper()
	s := &screen{T: t, tmux: peer.Need(t, "tmux"), dir: shortTemp(t)}
	config := "set -g remain-on-exit on\nset -g history-limit 100000\nset -g default-terminal screen-256color\nset " +
		"-g status off\nset -g escape-time 0\n"
	if err := os.WriteFile(filepath.Join(s.dir, "conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-f", filepath.Join(s.dir, "conf"), "new-session", "-d", "-x", strconv.Itoa(width), "-y",
		strconv.Itoa(height), "-c", cmd.Dir, "env", "-i"}
	args = append(args, "TERM=screen-256color")
	args = append(args, cmd.Env...)
	args = append(append(args, cmd.Path), cmd.Args[1:]...)
	s.do(args...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last screen:\n%s", s.text())
		}
		s.do("kill-server")
	})
	pid, err := strconv.Atoi(s.ask("#{pane_pid}"))
	if err != nil {
		t.Fatal(err)
	}
	s.pid = pid
	return s
}

// do runs a command of tmux and returns what it prints.
func (s *screen) do(args ...string) string {
	s.Helper()
	cmd := exec.Command(s.tmux, append([]string{"-u", "-S", filepath.Join(s.dir, "s")}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// ask returns what tmux knows about the terminal.
func (s *screen) ask(format string) string {
	s.Helper()
	return strings.TrimSpace(s.do("display-message", "-p", format))
}

// text returns what is on the screen, without the empty lines at its end.
func (s *screen) text() string { return strings.TrimRight(s.do("capture-pane", "-p"), "\n") }

// all returns what has scrolled by as well, with lines joined that the terminal has wrapped.
func (s *screen) all() string {
	return strings.TrimRight(s.do("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

// until waits until a condition holds.
func (s *screen) until(what string, holds func() bool) {
	s.Helper()
	if !await.Holds(holds) { // a terminal does not tell when it has drawn
		s.Fatalf("%s: not within %v; the screen is\n%s", what, await.Limit, s.text())
	}
}

// expect waits until a text is on the screen, or has scrolled by.
func (s *screen) expect(text string) {
	s.Helper()
	s.until(fmt.Sprintf("%q", text), func() bool { return strings.Contains(s.all(), text) })
}

// gone waits until a text is not on the screen any more.
func (s *screen) gone(text string) {
	s.Helper()
	s.until(fmt.Sprintf("%q to go", text), func() bool { return !strings.Contains(s.text(), text) })
}

// press presses keys by tmux's names, such as Enter, C-c or Up.
func (s *screen) press(keys ...string) { s.Helper(); s.do(append([]string{"send-keys"}, keys...)...) }

// typeText types a text, and waits until the input shows it.
func (s *screen) typeText(text string) {
	s.Helper()
	s.do("send-keys", "-l", text)
	s.expect(text)
}

// send types a line and presses Enter.
func (s *screen) send(line string) { s.Helper(); s.typeText(line); s.press("Enter") }

// paste pastes a text, as terminals do where a program wants to know of it.
func (s *screen) paste(text string) {
	s.Helper()
	file := filepath.Join(s.dir, "paste")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	s.do("load-buffer", file)
	s.do("paste-buffer", "-p")
}

// resize changes the size of the terminal.
func (s *screen) resize(width, height int) {
	s.Helper()
	s.do("resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
	file, err := os.OpenFile(s.ask("#{pane_tty}"), os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		s.Fatal(err)
	}
	defer file.Close()
	s.until("the new size", func() bool { // tmux tells of it some time later
		size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
		return err == nil && int(size.Col) == width && int(size.Row) == height
	})
}

// ended waits until the command has ended and the screen shows all that it has written. It returns
// the exit code.
func (s *screen) ended() int {
	s.Helper()
	status := ""
	s.until("the end of the command", func() bool {
		dead := s.ask("#{pane_dead}") == "1" // all has been read; tmux may know the status before
		if status = s.ask("#{pane_dead_status}"); status == "" && dead {
			if server, err := strconv.Atoi(s.ask("#{pid}")); err == nil {
				_ = syscall.Kill(server, syscall.SIGCHLD) // tmux 3.3 sometimes misses the one of the command
			}
		}
		return dead && status != ""
	})
	code, err := strconv.Atoi(status)
	if err != nil {
		s.Fatal(err)
	}
	return code
}

// killed kills the command, which has no time for anything.
func (s *screen) killed() {
	s.Helper()
	if err := syscall.Kill(s.pid, syscall.SIGKILL); err != nil {
		s.Fatal(err)
	}
	s.until("the death of the command", func() bool { return s.ask("#{pane_dead}") == "1" })
}

// golden waits until the screen is that of a file of testdata/screens.
func (s *screen) golden(name string, h *home) {
	s.Helper()
	got := plainScreen(s.all(), h) + "\n" // whole lines, because times in them have more or fewer digits
	file := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			s.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	if !await.Holds(func() bool { got = plainScreen(s.all(), h) + "\n"; return got == string(want) }) {
		s.Errorf("the screen is not that of %s (-update rewrites it): %s", file, cmp.Diff(string(want), got))
	}
}

// plainScreen returns a screen without what differs from run to run.
func plainScreen(text string, h *home) string {
	text = regexp.MustCompile(`(?m) +$`).ReplaceAllString(strings.ReplaceAll(text, h.dir, "DIR"), "")
	for _, r := range []struct{ from, to string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "SESSION"},
		{`\d+(\.\d+)?(ms|s)|<1ms`, "TIME"},
		{`[\d.]+k? tokens in( \(\d+% cached\))?, \d+ out`, "N tokens"},
		{`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`, "⠋"},
		{`\$\d+\.\d+`, "$$N"},
		{`\s+·\s+(SESSION|TIME)`, " · $1"}, // a long directory or duration breaks the line
	} {
		text = regexp.MustCompile(r.from).ReplaceAllString(text, r.to)
	}
	return text
}
