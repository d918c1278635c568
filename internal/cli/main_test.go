//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/chat"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/internal/parallel"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// TestMain runs the tests or, if a variable is set, the command, an MCP server or a program whose
// memory is measured: the tests start this binary as attractor.
func TestMain(m *testing.M) {
	if file := os.Getenv(peakVar); file != "" {
		os.Exit(runForPeak(file, os.Args[1], os.Args[2:]))
	}
	if role := os.Getenv(serverVar); role != "" {
		os.Exit(runServer(role))
	}
	if os.Getenv("ATTRACTOR_TEST_MAIN") != "" {
		os.Exit(Program{}.Main())
	}
	if signal.Ignored(syscall.SIGHUP) { // by nohup: programs that are started from here must not inherit that
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	parallel.Tests(8)
	orphans.Verify(m.Run)
}

// attractorCommand returns the command in a clean environment, without a terminal. It is killed
// after three minutes.
func attractorCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = []string{"ATTRACTOR_TEST_MAIN=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"TMPDIR=" + t.TempDir(),
		"GORACE=atexit_sleep_ms=0"} // else each process sleeps for a second under the race detector
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no controlling terminal to ask on
	if testing.CoverMode() != "" {                       // without the directory the process prints a warning to stderr
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+dir)
	}
	return cmd
}

// output holds the exit code and the output of a command.
type output struct {
	code           int
	stdout, stderr string
}

// runCommand runs a command to its end, whatever its exit code.
func runCommand(t *testing.T, cmd *exec.Cmd) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// serve starts a server with a scripted model. The keys of faults are the numbers of requests.
func serve(t testing.TB, faults map[int]fakellm.Fault, turns ...fakellm.Turn) (url string, server *fakellm.Server) {
	t.Helper()
	server = fakellm.New(fakellm.Script(turns...), fakellm.Options{Faults: faults})
	web := httptest.NewServer(server)
	t.Cleanup(web.Close)
	return web.URL, server
}

// unusedURL is a URL at which nothing listens: no test may, and port 1 has no other use.
const unusedURL = "http://127.0.0.1:1"

// A run with several rounds, one of them with three calls, changes files and prints every event to
// standard output.
func TestH_RunWithEvents(t *testing.T) {
	dir := t.TempDir()
	url, server := serve(t, nil,
		say("I start.", use("write_file", map[string]any{"file_path": "a.txt", "content": "one\n"}),
			use("shell", map[string]any{"command": "echo two > b.txt; pwd"}),
			use("glob", map[string]any{"pattern": "*.none"})),
		say("", use("edit_file", map[string]any{"file_path": "a.txt", "old_string": "one", "new_string": "three"})),
		say("Both are there."))
	cmd := attractorCommand(t, "run", "--provider", "anthropic", "--base-url", url, "--yes", "--json", "--dir", dir,
		"--effort", "high", "make two files")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
	got := runCommand(t, cmd)
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %s", got.code, got.stderr)
	}
	var kinds []string
	for line := range strings.Lines(got.stdout) {
		var ev struct {
			Kind      string    `json:"kind"`
			SessionID string    `json:"session_id"`
			Seq       int       `json:"seq"`
			Time      time.Time `json:"time"`
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		kinds = append(kinds, ev.Kind)
		if ev.Seq != len(kinds) || ev.SessionID == "" || ev.Time.IsZero() {
			t.Errorf("event %d: %s", len(kinds), line)
		}
	}
	all := strings.Join(kinds, " ")
	if !strings.HasPrefix(all, "SESSION_START USER_INPUT STEP_START") ||
		!strings.HasSuffix(all, "PROCESSING_END SESSION_END") ||
		strings.Count(all, "TOOL_CALL_START") != 4 || strings.Count(all, "TOOL_CALL_END") != 4 {
		t.Errorf("events %s", all)
	}
	for name, want := range map[string]string{"a.txt": "three\n", "b.txt": "two\n"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
	if r := server.Requests()[0]; r.Effort == "" || !strings.Contains(r.System, dir) {
		t.Errorf("effort %q, system prompt without the directory: %v", r.Effort, !strings.Contains(r.System, dir))
	}
}

// With --read-only the model can read files, but not change or run anything.
func TestH_ReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	url, server := serve(t, nil, say("", use("read_file", map[string]any{"file_path": "a.txt"}),
		use("write_file", map[string]any{"file_path": "a.txt", "content": "x"}),
		use("shell", map[string]any{"command": "rm a.txt"})), say("I looked."))
	cmd := attractorCommand(t, "run", "--base-url", url, "--read-only", "--dir", dir, "look")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
	if got := runCommand(t, cmd); got.code != 0 || got.stdout != "I looked.\n" {
		t.Errorf("exit code %d, stdout %q, stderr %s", got.code, got.stdout, got.stderr)
	}
	results := lastResults(server.Requests()[1].Messages)
	if !strings.Contains(results, "hello") || strings.Count(results, "read-only") != 2 {
		t.Errorf("results:\n%s", results)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(data) != "hello\n" {
		t.Errorf("a.txt holds %q, %v", data, err)
	}
}

// A signal ends attractor with the signal's exit code, and no process remains even if one ignores
// TERM.
func TestH_SignalsLeaveNoProcess(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		code int
		run  string
	}{
		{"SIGINT", syscall.SIGINT, 130, "$sleep & echo ready; wait"},
		{"SIGTERM", syscall.SIGTERM, 143, "$sleep & echo ready; wait"},
		{"SIGHUP", syscall.SIGHUP, 129, "$sleep & echo ready; wait"},
		{"SIGQUIT", syscall.SIGQUIT, 131, "setsid $sleep & echo ready; wait"},
		{"SIGINT with TERM ignored", syscall.SIGINT, 130, "trap '' TERM; $sleep & echo ready; wait; $sleep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			v := startBusy(t, tt.run)
			rest := v.endWith(t, tt.sig, tt.code)
			if !strings.Contains(rest, `"kind":"SESSION_END"`) || !strings.Contains(rest, `"reason":"aborted"`) {
				t.Errorf("the last events: %s", rest)
			}
			v.checkNothingLeft(t)
		})
	}
}

// SIGHUP stays ignored if it was ignored when attractor started, as under nohup.
func TestI5_NohupStaysIgnored(t *testing.T) {
	v := startBusy(t, "echo ready; exec $sleep", func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", `trap '' HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/sh"
	})
	if err := v.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	v.endWith(t, syscall.SIGTERM, 143)
	v.checkNothingLeft(t)
}

// The session ends when the reader of the events closes its pipe.
func TestH_ClosedPipeAborts(t *testing.T) {
	url, server := serve(t, nil,
		say("", use("shell", map[string]any{"command": "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.1; done; " +
			"sleep 300"})), say("never"))
	cmd := attractorCommand(t, "run", "--base-url", url, "--yes", "--json", "--dir", t.TempDir(), "count")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stdout.Close()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("ended with %v, want exit code 1", err)
	}
	if n := len(server.Requests()); n > 1 {
		t.Errorf("%d requests, want one: the session continued", n)
	}
}

// A second signal ends the command even if nobody reads what it prints, as behind 2>&1 and a pager.
func TestH_SecondSignalWithoutAReader(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil, say(strings.Repeat("words and words\n", 1<<16)))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := attractorCommand(t, "run", "--base-url", url, "--yes", "--dir", t.TempDir(), "talk")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	for lines := bufio.NewReaderSize(r, 16); ; { // what follows does not fit into the pipe
		if line, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		} else if strings.HasPrefix(line, "words") {
			break
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		// signals that come together may come in any order
		if code := cmd.ProcessState.ExitCode(); code != 130 && code != 143 {
			t.Errorf("exit code %d, want 130 or 143", code)
		}
	case <-time.After(await.Limit):
		t.Error("the command goes on after two signals")
		r.Close()
		<-ended
	}
}

func TestH_Demo(t *testing.T) {
	t.Parallel()
	peer.Need(t, "git")
	dir := filepath.Join(t.TempDir(), "new")
	got := runCommand(t, attractorCommand(t, "demo", "--dir", dir))
	if got.code != 0 || !strings.Contains(got.stdout, "Fixed slug()") {
		t.Fatalf("exit code %d, stdout %q, stderr:\n%s", got.code, got.stdout, got.stderr)
	}
	for _, want := range []string{"✗ shell sh slug_test.sh", "✓ edit_file slug.sh", "✓ shell sh slug_test.sh",
		"+\tprintf '%s'", "done · 5 turns"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("stderr does not show %q:\n%s", want, got.stderr)
		}
	}
	test := exec.Command("sh", "slug_test.sh")
	test.Dir = dir
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("the demo's test fails in its directory: %v\n%s", err, out)
	}
	if again := runCommand(t, attractorCommand(t, "demo", "--dir", dir)); again.code != exitUsage ||
		!strings.Contains(again.stderr, "not empty") {
		t.Errorf("demo in a directory that is not empty: exit code %d, %s", again.code, again.stderr)
	}
	page := filepath.Join(t.TempDir(), "demo.html")
	if got := runCommand(t, attractorCommand(t, "demo", "--html", page)); got.code != 0 {
		t.Errorf("demo --html: exit code %d: %s", got.code, got.stderr)
	}
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "Fixed slug()") ||
		!strings.Contains(string(text), "a/slug.sh") {
		t.Errorf("the page of the demo lacks its answer or its diff: %d bytes, %v", len(text), err)
	}
	if quiet := runCommand(t, attractorCommand(t, "demo", "--json")); quiet.code != 0 || quiet.stderr != "" ||
		!strings.Contains(quiet.stdout, "SESSION_END") {
		t.Errorf("demo --json: exit code %d, stderr %q", quiet.code, quiet.stderr)
	}
}

// The session of a demo that was stopped is not kept, so nothing says how to go on with it.
func TestH_DemoStopped(t *testing.T) {
	t.Parallel()
	peer.Need(t, "git")
	cmd := attractorCommand(t, "demo")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	for lines := bufio.NewReader(stderr); ; {
		line, err := lines.ReadString('\n')
		seen.WriteString(line)
		if err != nil {
			break
		}
		if strings.HasPrefix(line, "claude-") {
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("it ended with %v, want exit code 130", err)
	}
	if text := seen.String(); !strings.HasSuffix(text, "attractor: stopped by a signal\n") {
		t.Errorf("it says %q", text)
	}
}

func TestH_Inspect(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"AGENTS.md": "Always use tabs.", "a.txt": "first\nsecond\n",
		"x.png": llmtest.PNG} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		args   []string
		code   int
		stdout []string
		stderr string
	}{
		{[]string{"tools"}, 0, []string{"read_file", "file_path (string)", "edit_file", "shell"}, ""},
		{[]string{"tools", "--json"}, 0, []string{`"name": "read_file"`, `"parameters": {`}, ""},
		{[]string{"tools", "--profile", "none"}, 2, nil, "anthropic"},
		{[]string{"models", "--provider", "anthropic"}, 0, []string{"claude-opus-5-5", "1000000", "low medium high"},
			""},
		{[]string{"models", "--json", "--provider", "gemini"}, 0, []string{`"context_window": 1048576`, `"efforts": [`},
			""},
		{[]string{"models", "--provider", "acme"}, 2, nil, "acme"},
		{[]string{"prompt", "--dir", dir, "--instructions", "Be brief."}, 0,
			[]string{"coding agent", "<environment>", "Working directory: " + dir, "Is git repository: no",
				"Always use tabs.", "Be brief."}, ""},
		{[]string{"tool", "read_file", `{"file_path":"a.txt"}`, "--dir", dir}, 0, []string{"1 | first", "2 | second"},
			""},
		{[]string{"tool", "read_file", `{"file_path":"x.png"}`, "--dir", dir}, 0, []string{"[image image/png 67]"}, ""},
		{[]string{"tool", "read_file", `{"file_path":"none"}`, "--dir", dir}, 1, []string{"does not exist"}, ""},
		{[]string{"tool", "shell", `{"command":"echo out; exit 3"}`, "--dir", dir}, 1,
			[]string{"out\n", "Exit code: 3"}, ""},
		{[]string{"tool", "nope", `{}`}, 1, []string{"unknown tool"}, ""},
		{[]string{"tool", "read_file", `{"file_path":`}, 2, nil, "not valid JSON"},
		{[]string{"tool", "read_file"}, 2, nil, "arg"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args[:min(3, len(tt.args))], " "), func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, attractorCommand(t, tt.args...))
			if got.code != tt.code || !strings.Contains(got.stderr, tt.stderr) {
				t.Errorf("exit code %d, want %d; stderr %q", got.code, tt.code, got.stderr)
			}
			for _, want := range tt.stdout {
				if !strings.Contains(got.stdout, want) {
					t.Errorf("stdout does not show %q:\n%s", want, got.stdout)
				}
			}
		})
	}
}

// A command that cannot write its output fails, but not with a usage error.
func TestH_FullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("this system has no device that is always full: %v", err)
	}
	defer full.Close()
	for _, args := range [][]string{{"tools"}, {"version"}, {"demo", "--json"},
		{"tool", "shell", `{"command":"echo x"}`}} {
		cmd := attractorCommand(t, args...)
		cmd.Stdout = full
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
			t.Errorf("%v ended with %v, want exit code 1", args, err)
		}
	}
}

// A signal to attractor tool ends the command that the tool runs.
func TestH_ToolIsInterrupted(t *testing.T) {
	dir, sleep := t.TempDir(), newSleep(t)
	cmd := attractorCommand(t, "tool", "shell",
		`{"command":"echo > made; mv made ready; `+sleep+`","timeout_ms":100000}`, "--dir", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await.For(t, "the start of the tool's command", func() bool {
		_, err := os.Stat(filepath.Join(dir, "ready"))
		return err == nil
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != chat.ExitCode(syscall.SIGTERM) {
		t.Errorf("ended with %v, want exit code 143", err)
	}
	if left := running(t, sleep); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
}

func TestH_Patch(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	const good = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n-one\n+two\n*** Add File: c.txt\n+x\n" +
		"*** End Patch\n"
	for _, tt := range []struct {
		patch, stdout, stderr string
		code                  int
	}{
		{good, "R a.txt -> b.txt\nA c.txt\n", "", 0},
		{good, "", "a.txt, line 2 of the patch: the file does not exist", 1},
		{"", "", "begins with", 1},
		{"*** Begin Patch\n*** Add File: d.txt\n+" + strings.Repeat("x", maxPiped) + "\n*** End Patch\n", "",
			"more than 16 MiB", 2},
	} {
		cmd := attractorCommand(t, "patch", "--dir", dir)
		cmd.Stdin = strings.NewReader(tt.patch)
		if got := runCommand(t, cmd); got.code != tt.code || got.stdout != tt.stdout || !strings.Contains(got.stderr,
			tt.stderr) {
			t.Errorf("exit code %d, stdout %q, stderr %q", got.code, got.stdout, got.stderr)
		}
	}
}
