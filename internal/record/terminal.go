package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The size of the terminal, in characters.
const columns, rows = 88, 26

// terminal is a pane of a tmux server of its own. Its methods may be called concurrently.
type terminal struct {
	ctx  context.Context
	tmux string // the command
	temp string // the directory of its socket and its configuration
}

// openTerminal starts a shell in a directory with an environment. The caller has to close the
// terminal.
func openTerminal(ctx context.Context, temp, dir string, environ []string) (*terminal, error) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		return nil, err
	}
	t := &terminal{ctx: ctx, tmux: tmux, temp: temp}
	config := "set -g history-limit 10000\nset -g default-terminal screen-256color\nset -g status off\n" +
		"set -g escape-time 0\n"
	if err := os.WriteFile(filepath.Join(temp, "tmux.conf"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	args := []string{"-f", filepath.Join(temp, "tmux.conf"), "new-session", "-d", "-x", strconv.Itoa(columns), "-y",
		strconv.Itoa(rows), "-c", dir, "env", "-i", "TERM=screen-256color", "PS1=$ "}
	_, err = t.do(append(append(args, environ...), "bash", "--norc", "--noprofile", "-i")...)
	return t, err
}

func (t *terminal) close() error {
	_, err := t.do("kill-server")
	return err
}

// do runs a command of tmux and returns what it prints.
func (t *terminal) do(args ...string) (string, error) {
	cmd := exec.CommandContext(t.ctx, t.tmux, append([]string{"-u", "-S", filepath.Join(t.temp, "tmux")}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %q: %w\n%s", args, err, out)
	}
	return string(out), nil
}

// history returns what the terminal shows and what has scrolled by, with lines joined that it has
// wrapped.
func (t *terminal) history() (string, error) {
	text, err := t.do("capture-pane", "-p", "-J", "-S", "-")
	return strings.TrimRight(text, "\n "), err
}

// frame returns what the terminal shows, with colours, and its cursor.
func (t *terminal) frame() (frame, error) {
	out, err := t.do("capture-pane", "-p", "-e", ";", "display-message", "-p", "#{cursor_flag} #{cursor_x} #{cursor_y}")
	if err != nil {
		return frame{}, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	last := len(lines) - 1
	f := frame{lines: ownStyles(lines[:last])}
	var shown int
	if _, err := fmt.Sscan(lines[last], &shown, &f.x, &f.y); err != nil {
		return frame{}, fmt.Errorf("the cursor is %q: %w", lines[last], err)
	}
	f.cursor = shown == 1
	return f, nil
}

// ownStyles makes each line begin with the style in which the one before has ended, because tmux
// writes only changes.
func ownStyles(lines []string) []string {
	style := ""
	for i, line := range lines {
		lines[i] = style + line
		for rest := line; ; {
			_, after, found := strings.Cut(rest, "\x1b[")
			if !found {
				break
			}
			var codes string
			codes, rest, _ = strings.Cut(after, "m")
			if first, _, _ := strings.Cut(codes, ";"); first == "" || first == "0" {
				style = ""
			}
			style += "\x1b[" + codes + "m"
		}
	}
	return lines
}

// expect waits until what is on the screen or has scrolled by matches a pattern at least this many
// times.
func (t *terminal) expect(pattern string, times int) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		all, err := t.history()
		if err != nil || len(re.FindAllString(all, times)) >= times {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the terminal does not show %q:\n%s", pattern, all)
		}
	}
}

// kill kills the program that the shell runs, as kill -9 in another terminal does.
func (t *terminal) kill() error {
	shell, err := t.do("display-message", "-p", "#{pane_pid}")
	if err != nil {
		return err
	}
	table, err := exec.CommandContext(t.ctx, "ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == strings.TrimSpace(shell) {
			return exec.CommandContext(t.ctx, "kill", "-9", fields[0]).Run()
		}
	}
	return errors.New("the shell runs nothing that could be killed")
}
