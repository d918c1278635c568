//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/sessions"
)

// home holds a user's home directory with sessions, a working directory, and the URL of a model.
type home struct {
	*testing.T
	home, dir, url string
}

func newHome(t *testing.T, url string) *home {
	return &home{T: t, home: t.TempDir(), dir: t.TempDir(), url: url}
}

// run runs the command and checks its exit code.
func (h *home) run(code int, args ...string) output {
	h.Helper()
	out := runCommand(h.T, h.command(args...))
	if out.code != code {
		h.Fatalf("%v: exit code %d, want %d\n%s\n%s", args, out.code, code, out.stdout, out.stderr)
	}
	return out
}

// command returns the command.
func (h *home) command(args ...string) *exec.Cmd {
	h.Helper()
	cmd := attractorCommand(h.T, args...)
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+h.url)
	return cmd
}

// sessions returns the sessions that sessions list prints, the newest first.
func (h *home) sessions() []sessions.Summary {
	h.Helper()
	var list []sessions.Summary
	if err := json.Unmarshal([]byte(h.run(0, "sessions", "list", "--json").stdout), &list); err != nil {
		h.Fatal(err)
	}
	return list
}

// The parts of a session's prompt are told by what they have cost, and in tokens if nobody knows
// the prices.
func TestV6_SessionsShowCost(t *testing.T) {
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo one >> log; cat log"})),
		fakellm.Turn{Text: "first"})
	h := newHome(t, url)
	if err := os.WriteFile(filepath.Join(h.dir, "AGENTS.md"), []byte("Write tests."), 0o600); err != nil {
		t.Fatal(err)
	}
	h.run(0, "run", "--yes", "the task")
	id := h.sessions()[0].ID
	cost := h.run(0, "sessions", "show", "--cost", id).stdout
	for _, want := range []string{"anthropic/claude-", "the dearest parts of the prompt:", "  $0.0",
		"the system prompt (2 requests)",
		"the built-in tools (2 requests)", "the document " + filepath.Join(h.dir, "AGENTS.md") + " (2 requests)",
		"the message of turn 1 (2 requests)",
		"the result of shell in turn 3: echo one >> log; cat log (1 request)"} {
		if !strings.Contains(cost, want) {
			t.Errorf("show --cost does not say %q:\n%s", want, cost)
		}
	}
	h.run(0, "run", "--yes", "--model", "nobody-knows", "the task")
	cost = h.run(0, "sessions", "show", "--cost", h.sessions()[0].ID).stdout
	if strings.Contains(cost, "$") || !strings.Contains(cost, " tokens  the built-in tools (2 requests)") {
		t.Errorf("show --cost without prices:\n%s", cost)
	}
}

func TestH_SessionsAreKeptResumedAndForked(t *testing.T) {
	url, server := serve(t, nil, say("", use("shell", map[string]any{"command": "echo one >> log; cat log"})),
		fakellm.Turn{Text: "first"}, fakellm.Turn{Text: "second"}, fakellm.Turn{Text: "third"})
	h := newHome(t, url)
	if out := h.run(0, "sessions", "list"); !strings.Contains(out.stderr, "no sessions yet") {
		t.Errorf("list without sessions: stderr %q", out.stderr)
	}
	h.run(0, "run", "--yes", "the task")
	list := h.sessions()
	if len(list) != 1 || list[0].Task != "the task" || list[0].Dir != h.dir || list[0].Model == "" {
		t.Fatalf("list after the run: %+v", list)
	}
	id := list[0].ID
	file := filepath.Join(h.home, ".local", "state", "attractor", "sessions", id+".jsonl")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the journal file: %v, %v; want mode 0600", info, err)
	}

	// The session's own directory is used, although the command runs in another one.
	elsewhere := *h
	elsewhere.dir = t.TempDir()
	if out := elsewhere.run(0, "run", "--yes", "--resume", id[:6], "proceed-now"); out.stdout != "second\n" {
		t.Errorf("resumed: %q", out.stdout)
	}
	requests := server.Requests()
	before, after := requests[1].Body, requests[2].Body
	if len(after) <= len(before) || !strings.Contains(string(after), "proceed-now") || !strings.Contains(string(after),
		"first") {
		t.Errorf("the resumed request does not continue the session: %s", after)
	}

	show := h.run(0, "sessions", "show", id).stdout
	for _, want := range []string{id, h.dir, "idle; last input: completed", "1  user", "the task", "2  assistant",
		"shell", "3  tool_results", "6  assistant"} {
		if !strings.Contains(show, want) {
			t.Errorf("show does not say %q:\n%s", want, show)
		}
	}
	if out := h.run(0, "run", "--yes", "--fork", id+"@4", "instead"); out.stdout != "second\n" {
		t.Errorf("forked: %q", out.stdout)
	}
	body := string(server.Requests()[3].Body)
	if !strings.Contains(body, "instead") || strings.Contains(body, "proceed-now") {
		t.Errorf("the fork's request: %s", body)
	}
	if list := h.sessions(); len(list) != 2 || list[0].ForkOf != id {
		t.Errorf("list after the fork: %+v", list)
	}
	if out := h.run(0, "sessions", "replay", id).stdout; !strings.Contains(out, "produced the same") {
		t.Errorf("replay: %s", out)
	}
	if out := h.run(0, "sessions", "export", id).stdout; !strings.Contains(out, "## 4 · assistant\n\nfirst") {
		t.Errorf("export: %s", out)
	}
	kinds := ""
	for line := range strings.Lines(h.run(0, "sessions", "events", id).stdout) {
		var ev event
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		kinds += ev.Kind + " "
	}
	if !strings.HasPrefix(kinds, "SESSION_START USER_INPUT STEP_START ") ||
		!strings.HasSuffix(kinds, "PROCESSING_END SESSION_END ") {
		t.Errorf("events: %s", kinds)
	}
	h.run(0, "sessions", "rm", id, h.sessions()[0].ID)
	if list := h.sessions(); len(list) != 0 {
		t.Errorf("list after rm: %+v", list)
	}
}

func TestH_SessionUsageErrors(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "x"})
	h := newHome(t, url)
	for _, c := range []struct {
		want string
		args []string
	}{
		{"no session \"nix\"", []string{"run", "--yes", "--resume", "nix", "x"}},
		{"no session \"nix\"", []string{"run", "--yes", "--fork", "nix@2", "x"}},
		{"must be a number, from 1", []string{"run", "--yes", "--fork", "nix@0", "x"}},
		{"cannot be used together", []string{"run", "--yes", "--fork", "a", "--resume", "b", "x"}},
		{"cannot be used with --no-journal", []string{"run", "--yes", "--no-journal", "--resume", "b", "x"}},
		{"cannot be used with --no-journal", []string{"run", "--yes", "--no-journal", "--keep-outputs", "1", "x"}},
		{"stop or summarize", []string{"run", "--yes", "--on-limit", "dance", "x"}},
		{`--budget-tokens must be a whole number from 0 on, not "-1"`, []string{"run", "--yes", "--budget-tokens", "-1",
			"x"}},
		{"cannot read the schema", []string{"run", "--yes", "--output-schema", "nix.json", "x"}},
		{"prompt is empty", []string{"run", "--yes"}},
		{"no session \"nix\"", []string{"sessions", "show", "nix"}},
		{"no session \"nix\"", []string{"sessions", "rm", "nix"}},
	} {
		if out := h.run(exitUsage, c.args...); !strings.Contains(out.stderr, c.want) {
			t.Errorf("%v: %s, want %q", c.args, out.stderr, c.want)
		}
	}
	if list := h.sessions(); len(list) != 0 {
		t.Errorf("refused runs left sessions: %+v", list)
	}
	h.run(0, "run", "--yes", "--no-journal", "x")
	if list := h.sessions(); len(list) != 0 {
		t.Errorf("--no-journal left sessions: %+v", list)
	}
}

// A second process cannot write to a running session. The lock ends with a killed process, so that
// the session can be resumed.
func TestH_OneWriterAndResumeAfterKill(t *testing.T) {
	sleep := newSleep(t)
	url, _ := serve(t, nil, say("", use("shell", map[string]any{"command": "echo started; exec " + sleep,
		"timeout_ms": 600_000})), fakellm.Turn{Text: "recovered"}, fakellm.Turn{Text: "recovered"})
	h := newHome(t, url)
	cmd := attractorCommand(t, "run", "--yes", "--json", "wait")
	cmd.Dir = h.dir
	cmd.Env = append(cmd.Env, "HOME="+h.home, "XDG_RUNTIME_DIR="+h.home, "ANTHROPIC_API_KEY=key-of-a-test",
		"ANTHROPIC_BASE_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "TOOL_CALL_OUTPUT_DELTA") {
	}
	list := h.sessions()
	if len(list) != 1 || !list[0].Locked || list[0].PID != cmd.Process.Pid {
		t.Fatalf("%+v, want one session, locked by process %d", list, cmd.Process.Pid)
	}
	id := list[0].ID
	for _, args := range [][]string{{"run", "--yes", "--resume", id, "me too"}, {"sessions", "rm", id}} {
		if out := h.run(exitFailed, args...); !strings.Contains(out.stderr,
			"process "+strings.TrimSpace(jsonNumber(cmd.Process.Pid))) {
			t.Errorf("%v: %s", args, out.stderr)
		}
	}
	if out := h.run(0, "sessions", "show", id).stdout; !strings.Contains(out,
		"running in process "+strings.TrimSpace(jsonNumber(cmd.Process.Pid))) {
		t.Errorf("show of a running session: %s", out)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the killed process succeeded")
	}
	if out := h.run(0, "sessions", "replay", id); strings.Contains(out.stderr, "the journal ends here") {
		t.Errorf("the replay shows results that the session did not have:\n%s", out.stderr)
	}
	if out := h.run(0, "sessions", "show", id).stdout; !strings.Contains(out,
		"interrupted; to continue it, run: attractor run --resume "+id[:8]) {
		t.Errorf("show of a killed session: %s", out)
	}
	if out := h.run(0, "run", "--yes", "--resume", id); out.stdout != "recovered\n" {
		t.Errorf("resumed: %q", out.stdout)
	}
	if show := h.run(0, "sessions", "show", id).stdout; !strings.Contains(show, "outcome is unknown") {
		t.Errorf("no result says that the outcome is unknown:\n%s", show)
	}
	if left := running(t, sleep); len(left) > 0 {
		t.Errorf("left running: %q", left)
	}
}

// jsonNumber returns a number in decimal.
func jsonNumber(n int) string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestH_OutputSchema(t *testing.T) {
	url, _ := serve(t, nil, say("thinking aloud"), say("", use("final_result", map[string]any{"count": 3})))
	h := newHome(t, url)
	schema := filepath.Join(h.dir, "schema.json")
	if err := os.WriteFile(schema,
		[]byte(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := h.run(0, "run", "--yes", "--output-schema", schema, "count"); out.stdout != "{\"count\":3}\n" {
		t.Errorf("stdout %q", out.stdout)
	}
}

func TestH_BudgetsAndSummaries(t *testing.T) {
	loop := say("", use("shell", map[string]any{"command": "true"}))
	url, _ := serve(t, nil, loop, loop, loop, loop)
	h := newHome(t, url)
	if out := h.run(exitLimit, "run", "--yes", "--budget-tokens", "9000", "x"); !strings.Contains(out.stderr,
		"budget_tokens") {
		t.Errorf("the budget's limit is not reported: %s", out.stderr)
	}
	url, _ = serve(t, nil, loop, fakellm.Turn{Text: "what was done"})
	h = newHome(t, url)
	if out := h.run(exitLimit, "run", "--yes", "--max-rounds", "1", "--on-limit", "summarize",
		"x"); out.stdout != "what was done\n" {
		t.Errorf("stdout %q, stderr %s", out.stdout, out.stderr)
	}
}

// journalFile returns the path of a session's journal.
func (h *home) journalFile(id string) string {
	return filepath.Join(h.home, ".local", "state", "attractor", "sessions", id+".jsonl")
}

// A journal without a complete record, which a process leaves if it is killed at its start, is not
// listed as a session.
func TestI17_NoPhantomSessions(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "the task")
	id := h.sessions()[0].ID
	content, err := os.ReadFile(h.journalFile(id))
	if err != nil {
		t.Fatal(err)
	}
	empty, torn := id[:8]+"-empty", id[:8]+"-torn"
	for name, left := range map[string][]byte{empty: nil, torn: content[:100]} {
		if err := os.WriteFile(h.journalFile(name), left, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list := h.sessions(); len(list) != 1 || list[0].ID != id {
		t.Errorf("list: %+v", list)
	}
	if out := h.run(0, "sessions", "list"); strings.Count(out.stdout, "\n") != 2 || strings.Contains(out.stdout, "!") {
		t.Errorf("list: %s", out.stdout)
	}
	if out := h.run(0, "sessions", "show", id[:8]); !strings.Contains(out.stdout, id) {
		t.Errorf("show: %s", out.stdout)
	}
	h.run(0, "sessions", "rm", empty, torn)
	for _, name := range []string{empty, torn} {
		if _, err := os.Stat(h.journalFile(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if out := h.run(exitUsage, "sessions", "rm", empty); !strings.Contains(out.stderr, "there is no session") {
		t.Errorf("rm: %s", out.stderr)
	}
}

// Every command that reads a session reports a flipped bit in its journal.
func TestI8_DamageIsReported(t *testing.T) {
	url, _ := serve(t, nil, fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "again"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "the task")
	id := h.sessions()[0].ID
	content, err := os.ReadFile(h.journalFile(id))
	if err != nil {
		t.Fatal(err)
	}
	write := func(at int) {
		changed := bytes.Clone(content)
		changed[at] ^= 1
		if err := os.WriteFile(h.journalFile(id), changed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(len(content) / 2)
	for _, args := range [][]string{{"sessions", "show", id}, {"sessions", "events", id}, {"sessions", "export", id},
		{"sessions", "replay", id}, {"run", "--yes", "--resume", id, "x"}} {
		if out := h.run(exitFailed, args...); !strings.Contains(out.stderr, "corrupt: line ") ||
			!strings.Contains(out.stderr, "checksum") {
			t.Errorf("%v: %s", args, out.stderr)
		}
	}
	if out := h.run(0, "sessions", "list"); !strings.Contains(out.stdout, "corrupt") {
		t.Errorf("list: %s", out.stdout)
	}
	write(len(content) - 10)
	for _, what := range []string{"show", "events", "export"} {
		if out := h.run(0, "sessions", what, id); !strings.Contains(out.stderr, "broken") || out.stdout == "" {
			t.Errorf("%s: %s", what, out.stderr)
		}
	}
	if out := h.run(0, "run", "--yes", "--resume", id, "x"); !strings.Contains(out.stderr, "cut off") ||
		out.stdout != "again\n" {
		t.Errorf("resume: %s", out.stderr)
	}
	if out := h.run(0, "sessions", "show", id); out.stderr != "" {
		t.Errorf("show after the damaged end was cut off: stderr %s", out.stderr)
	}
}

// A full journal ends a session in good order, and a higher limit lets it continue.
func TestI9_MaxJournal(t *testing.T) {
	long := say("", use("shell", map[string]any{"command": "head -c 15000 /dev/zero | tr '\\0' x"}))
	url, _ := serve(t, nil, long, long, long, long, fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	out := h.run(exitLimit, "run", "--yes", "--max-journal", "70000", "the task")
	if !strings.Contains(out.stderr, "--max-journal") || !strings.Contains(out.stderr, "limit is 70000") {
		t.Errorf("run: %s", out.stderr)
	}
	list := h.sessions()
	if len(list) != 1 || list[0].Size > 70_000 {
		t.Fatalf("list: %+v", list)
	}
	id := list[0].ID
	if out := h.run(0, "sessions", "events", id); !strings.Contains(out.stdout, `"reason":"log_full"`) {
		t.Errorf("events: %s", out.stdout)
	}
	if out := h.run(exitLimit, "run", "--yes", "--resume", id, "--max-journal", "70000"); !strings.Contains(out.stderr,
		"limit is 70000") {
		t.Errorf("resume: %s", out.stderr)
	}
	if out := h.run(0, "run", "--yes", "--resume", id); out.stdout != "done\n" {
		t.Errorf("resume: %q, %s", out.stdout, out.stderr)
	}
	h.run(exitUsage, "run", "--max-journal", "0", "x")
}

// Resuming with --dir moves a session to another directory for good and tells the model.
func TestI15_ResumeInAnotherDirectory(t *testing.T) {
	url, server := serve(t, nil, say("first"), say("second"),
		say("", use("shell", map[string]any{"command": "echo in=$(pwd -P)"})), say("third"), say("fourth"))
	h := newHome(t, url)
	h.run(0, "run", "--yes", "the task")
	id := h.sessions()[0].ID
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	told := "Working directory: " + dir
	for i, c := range []struct {
		args []string
		told int
	}{{[]string{"--resume", id, "here"}, 0}, {[]string{"--resume", id, "--dir", dir, "there"}, 1},
		{[]string{"--resume", id, "still there"}, 1}} {
		h.run(0, append([]string{"run", "--yes"}, c.args...)...)
		requests := server.Requests()
		if n := strings.Count(string(requests[len(requests)-1].Body), told); n != c.told {
			t.Errorf("run %d: the request names the new directory %d times, want %d", i+2, n, c.told)
		}
	}
	if body := string(server.Requests()[3].Body); !strings.Contains(body, "in="+dir) {
		t.Errorf("the command did not run in the new directory: %s", body)
	}
	if show := h.run(0, "sessions", "show", id).stdout; !strings.Contains(show, dir) {
		t.Errorf("show: %s", show)
	}
	if out := h.run(2, "run", "--yes", "--resume", id, "--provider", "openai", "x"); !strings.Contains(out.stderr,
		"openai needs a model of its own; pass one with --model") {
		t.Errorf("resume with another provider: %s", out.stderr)
	}
}
