//go:build unix

package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm/fakellm"
)

var killRuns = flag.Int("kill.runs", 4, "sessions of TestA19_KilledAtAnyTime, each killed up to four times")

const killRounds, killCalls = 4, 3

// killScript returns rounds of calls. Each call appends its own line to a file.
func killScript() []fakellm.Turn {
	var turns []fakellm.Turn
	for round := range killRounds {
		var calls []fakellm.Call
		for i := range killCalls {
			calls = append(calls, use("shell", map[string]any{"command": fmt.Sprintf("echo line-%d-%d >> log.txt",
				round, i)}))
		}
		turns = append(turns, say("A round.", calls...))
	}
	return append(turns, say("All is done."))
}

// The command is killed at random times and resumed several times before it may finish. No call
// runs twice, every call that did not run is reported with an unknown outcome, the session
// succeeds, and its replay produces the same records.
func TestA19_KilledAtAnyTime(t *testing.T) {
	url, _ := serve(t, nil, killScript()...)
	whole := time.Hour // the duration of a run without a kill
	for range 3 {
		h := newHome(t, url)
		began := time.Now()
		h.run(0, "run", "--yes", "go")
		whole = min(whole, time.Since(began))
		if lines := h.logLines(); len(lines) != killRounds*killCalls {
			t.Fatalf("without a kill: %q", lines)
		}
	}
	dice := seed.New(t)
	killed, unknown := 0, 0
	for n := 0; n < *killRuns || killed < *killRuns/2; n++ {
		if n >= *killRuns { // the machine was slower when a run without a kill was measured
			whole = max(whole/2, time.Millisecond)
		}
		h := newHome(t, url)
		for range 1 + dice.IntN(4) {
			if h.start(h.resumeArgs()...).killAfter(time.Duration(dice.Int64N(int64(whole)))) {
				killed++
			}
		}
		args := h.resumeArgs()
		if out := h.run(0, args...); out.stdout != "All is done.\n" {
			t.Errorf("session %d: %v ended with %q", n, args, out.stdout)
		}
		id := h.sessions()[0].ID
		lines, lost := h.logLines(), strings.Count(h.run(0, "sessions", "export", id).stdout, "outcome is unknown")
		unknown += lost
		if once := slices.Compact(slices.Sorted(slices.Values(lines))); len(once) != len(lines) {
			t.Errorf("session %d: a call ran twice: %q", n, lines)
		}
		if len(lines)+lost < killRounds*killCalls {
			t.Errorf("session %d: %d calls with unknown outcome, but only these ran: %q", n, lost, lines)
		}
		if out := h.run(0, "sessions", "replay", id).stdout; !strings.Contains(out, "produced the same") {
			t.Errorf("session %d: replay: %s", n, out)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d kills, %d calls with unknown outcome", killed, unknown)
}

// logLines returns the lines that the calls have written.
func (h *home) logLines() []string {
	h.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, "log.txt"))
	if err != nil && !os.IsNotExist(err) {
		h.Fatal(err)
	}
	return strings.Fields(string(data))
}

// resumeArgs returns the arguments that resume the session, or start one if the kill came before
// the first record.
func (h *home) resumeArgs() []string {
	h.Helper()
	for _, s := range h.sessions() {
		if s.Task != "" {
			return []string{"run", "--yes", "--resume", s.ID}
		}
	}
	return []string{"run", "--yes", "go"}
}

// startedCommand kills a running command and waits for it.
type startedCommand struct {
	*testing.T
	kill func() error
	wait func() error
}

// start starts the command.
func (h *home) start(args ...string) *startedCommand {
	h.Helper()
	cmd := attractorCommand(h.T, args...)
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+h.url)
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	return &startedCommand{h.T, cmd.Process.Kill, cmd.Wait}
}

// killAfter kills the command after a time and reports whether it was killed before it had ended.
func (v *startedCommand) killAfter(d time.Duration) bool {
	v.Helper()
	timer := time.AfterFunc(d, func() {
		if err := v.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			v.Error(err)
		}
	})
	defer timer.Stop()
	err := v.wait()
	return err != nil
}
