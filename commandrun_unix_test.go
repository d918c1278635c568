//go:build unix

package attractor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
)

// openCommand opens a setup without a model and returns it with a command.
func openCommand(t *testing.T, prompt string) (*Setup, *ext.Command, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := prepare(t.Context(), config{Config: Config{Dir: dir, Mode: permit.ModeFull},
		Getenv: func(name string) string {
			return map[string]string{"ANTHROPIC_API_KEY": "k", "XDG_STATE_HOME": dir + "/state"}[name]
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	c, mistakes := ext.ParseCommand(ext.File{Name: "do.md", Data: []byte(prompt)}, "do")
	if c == nil {
		t.Fatal(mistakes)
	}
	return s, c, dir
}

// A shell command that does not end is ended, and the message says so.
func TestM7_ShellCommandThatHangs(t *testing.T) {
	s, c, _ := openCommand(t, "A !`echo first; sleep 1000` B")
	parts, err := s.fillCommand(t.Context(), c, "", 50*time.Millisecond)
	if err != nil || !strings.Contains(parts.Text(), "timed out") || !strings.HasSuffix(parts.Text(), " B\n") {
		t.Errorf("%q, %v", parts, err)
	}
}

// StopCommand ends a shell command that runs.
func TestM7_StopCommand(t *testing.T) {
	s, c, dir := openCommand(t, "A !`echo x > fifo; sleep 1000` B")
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		if _, err := os.ReadFile(fifo); err != nil { // until the command has begun
			t.Error(err)
		}
		s.StopCommand()
	}()
	_, err := s.fill(t.Context(), &Command{fill: func(ctx context.Context, arguments string) (llm.Parts, error) {
		return s.fillCommand(ctx, c, arguments, commandTime)
	}}, "")
	if !errors.Is(err, errStopped) {
		t.Error(err)
	}
}
