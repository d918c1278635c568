//go:build unix

package cli

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/internal/await"
)

// busyCommand holds a running attractor whose tool call runs a script with a sleep.
type busyCommand struct {
	cmd   *exec.Cmd
	lines *bufio.Reader // the rest of its events
	sleep string        // the sleep's unique command line
}

// newSleep returns the unique command line of a long sleep.
func newSleep(t *testing.T) string {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(1e12))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sleep 600.%012d", n)
}

// startBusy starts attractor with a tool call that runs the script, in which $sleep stands for a
// sleep. It returns when the script has printed ready.
func startBusy(t *testing.T, script string, prepare ...func(*exec.Cmd)) *busyCommand {
	t.Helper()
	v := &busyCommand{sleep: newSleep(t)}
	url, _ := serve(t, nil, say("",
		use("shell", map[string]any{"command": strings.ReplaceAll(script, "$sleep", v.sleep), "timeout_ms": 500_000})))
	v.cmd = attractorCommand(t, "run", "--base-url", url, "--yes", "--json", "--dir", t.TempDir(), "wait")
	v.cmd.Env = append(v.cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
	for _, f := range prepare {
		f(v.cmd)
	}
	stdout, err := v.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.lines = bufio.NewReader(stdout)
	for printed := ""; !strings.Contains(printed, "ready\n"); {
		line, err := v.lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %q", err, printed)
		}
		var ev struct{ Kind, Text string }
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Kind == "TOOL_CALL_OUTPUT_DELTA" {
			printed += ev.Text
		}
	}
	return v
}

// endWith sends a signal, checks the exit code (-1 if the signal killed the process), and returns
// the rest of the events.
func (v *busyCommand) endWith(t *testing.T, sig syscall.Signal, code int) string {
	t.Helper()
	if err := v.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(v.lines)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := v.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("ended with %v, want exit code %d", err, code)
	}
	return string(rest)
}

// running lists the processes whose command line contains line.
func running(t *testing.T, line string) (found []string) {
	t.Helper()
	out, err := exec.Command("ps", "-axww", "-o", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.Lines(string(out)) {
		f := strings.Fields(entry)
		if len(f) > 2 && !strings.HasPrefix(f[1], "Z") && strings.Contains(strings.Join(f[2:], " "), line) {
			found = append(found, strings.TrimSpace(entry))
		}
	}
	return found
}

// checkNothingLeft checks that the sleep does not run any more.
func (v *busyCommand) checkNothingLeft(t *testing.T) {
	t.Helper()
	if left := running(t, v.sleep); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
}

// waitGone waits until the sleep has ended. The kernel takes a moment to end a namespace.
func (v *busyCommand) waitGone(t *testing.T) {
	t.Helper()
	gone := func() bool { return len(running(t, v.sleep)) == 0 }
	if !await.Holds(gone) {
		t.Fatalf("left running: %q", running(t, v.sleep))
	}
}
