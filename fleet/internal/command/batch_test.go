package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A batch over five repositories, a directory and nothing at all leaves a patch, the files that
// were asked for, and the session of each task.
func TestP2_Batch(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	var tasks []map[string]any
	for i := range 5 {
		name := fmt.Sprintf("repo%d", i)
		h.repository(name)
		tasks = append(tasks, map[string]any{"id": name, "repo": map[string]any{"url": name},
			"artifacts": []string{"out/*.txt"},
			"prompt": fmt.Sprintf("task %d\n$ echo more of %s >>README.md; mkdir out; echo %d >out/number.txt", i, name,
				i)})
	}
	h.write("place/there", "x")
	tasks = append(tasks, map[string]any{"id": "dir", "dir": "place", "prompt": "task dir\n$ pwd >where"},
		map[string]any{"id": "empty", "prompt": "task empty\n$ ls -A | wc -l"})
	h.tasks(tasks...)
	out := h.run("batch", "tasks.jsonl", "--yes", "--jobs", "3")
	if out.code != 0 {
		t.Fatalf("%+v", out)
	}
	for _, task := range tasks {
		if !strings.Contains(out.stdout, "✓ "+task["id"].(string)+"  ") {
			t.Errorf("nothing was told of %s:\n%s", task["id"], out.stdout)
		}
	}
	if n := strings.Count(out.stdout, "\n"); n != len(tasks) || !strings.Contains(out.stderr, "7 of 7 tasks done") {
		t.Errorf("%d lines:\n%s\n%s", n, out.stdout, out.stderr)
	}
	results := h.results("tasks.results")
	for i := range 5 {
		name := fmt.Sprintf("repo%d", i)
		r := results[name]
		if !r.Done || r.Patch == "" || r.Session == "" || len(r.Files) != 1 ||
			r.Result.Text != fmt.Sprintf("All of task %d is done.", i) {
			t.Errorf("the result is %+v", r)
			continue
		}
		patch := h.read("tasks.results/" + r.Patch)
		if !strings.Contains(patch, "+more of "+name) || !strings.Contains(patch, "+++ b/out/number.txt") {
			t.Errorf("the patch of %s:\n%s", name, patch)
		}
		if got := h.read("tasks.results/" + r.Files[0]); got != fmt.Sprintln(i) {
			t.Errorf("the file of %s is %q", name, got)
		}
		if session := h.read("tasks.results/" + r.Session); !strings.Contains(session, "more of "+name) {
			t.Errorf("the session of %s:\n%s", name, session)
		}
		if got := h.read(name + "/README.md"); strings.Contains(got, "more") {
			t.Errorf("the repository itself was changed: %s", got)
		}
	}
	if got := strings.TrimSpace(h.read("place/where")); filepath.Base(got) != "place" {
		t.Errorf("the directory was %s", got)
	}
	if !results["empty"].Done || !results["dir"].Done {
		t.Errorf("%+v\n%+v", results["dir"], results["empty"])
	}
	if entries, err := os.ReadDir(filepath.Join(h.dir, "tasks.results/state/workspaces/default")); err != nil ||
		len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// Why a task waits is told at once and on standard error, but once for each reason.
func TestP2_WhyTasksWait(t *testing.T) {
	t.Parallel()
	var out, err strings.Builder
	b := (&program{out: &out, err: &err}).newBoard(2)
	for _, s := range []fleet.Status{{ID: "a", State: fleet.Running},
		{ID: "a", State: fleet.Paused, Reason: "no such host"},
		{ID: "b", State: fleet.Paused, Reason: "no such host"}, {ID: "a", State: fleet.Queued},
		{ID: "b", State: fleet.Paused, Reason: "the disk is full"}} {
		b.status(s)
	}
	want := "attractor-fleet: a waits and is tried again: no such host\nattractor-fleet: b waits and is tried again: " +
		"the disk is full\n"
	if out.String() != "" || err.String() != want {
		t.Errorf("out %q, err %q, want %q", out.String(), err.String(), want)
	}
}

// A task that fails is told in a line and does not stop the others. What is done stays done in the
// next run, which tells again why the others failed, and --retry runs those again.
func TestP2_FailedTasks(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "good", "prompt": "task good\n$ echo ran >>$HOME/ran"},
		map[string]any{"id": "lost", "prompt": "task lost", "repo": map[string]any{"url": "file://" + h.dir + "/none"}},
		map[string]any{"id": "short", "prompt": "task short\n$ true", "agent": map[string]any{"max_turns": 1}})
	for run := range 2 {
		out := h.run("batch", "tasks.jsonl", "--yes")
		if out.code != 1 || !strings.Contains(out.stderr,
			"1 of 3 tasks done · 2 not; to run those again, add --retry") {
			t.Fatalf("%+v", out)
		}
		if !strings.Contains(out.stdout, "✗ lost  failed: ") ||
			!strings.Contains(out.stdout, "✗ short  stopped at max_turns") ||
			strings.Contains(out.stdout, "✓ good") != (run == 0) {
			t.Errorf("run %d tells\n%s", run, out.stdout)
		}
	}
	h.repository("none")
	session := h.read("tasks.results/tasks/short/session.jsonl")
	out := h.run("batch", "tasks.jsonl", "--yes", "--retry")
	if out.code != 1 || !strings.Contains(out.stdout, "✓ lost") || !strings.Contains(out.stderr, "2 of 3 tasks done") {
		t.Errorf("%+v", out)
	}
	if r := h.results("tasks.results"); !r["lost"].Done || r["short"].Done || r["short"].State != "done" {
		t.Errorf("%+v", r)
	}
	if h.read("tasks.results/tasks/short/session.jsonl") == session {
		t.Error("the results are those of the run before")
	}
	if ran := h.read("ran"); ran != "ran\n" {
		t.Errorf("a task that was done ran again: %q", ran)
	}
}

// A task whose deadline is over fails, and the others run.
func TestP2_DeadlineThatIsOver(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "late", "prompt": "task late", "deadline": "2020-01-01T00:00:00Z"},
		map[string]any{"id": "good", "prompt": "task good"})
	out := h.run("batch", "tasks.jsonl", "--yes")
	if out.code != 1 || !strings.Contains(out.stdout, "✗ late  failed: the task has come to its deadline") ||
		!strings.Contains(out.stdout, "✓ good") {
		t.Errorf("%+v", out)
	}
}

// What is wrong with the command line or the file is told before anything runs.
func TestP2_WrongUse(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "a", "prompt": "task a"})
	h.write("bad.jsonl", `{"id":"x","prompt":"y","dir":"nowhere"}`+"\n"+`{"id":"y"}`+"\n"+
		`{"id":"z","prompt":"p","tenant":"red"}`+"\n"+
		`{"id":"both","prompt":"p","dir":".","repo":{"url":"."}}`+"\n"+
		`{"id":"ref","prompt":"p","repo":{"url":".","ref":"-x"}}`)
	for _, test := range []struct{ args, want string }{
		{"batch", "the file of tasks is missing"},
		{"batch tasks.jsonl", "nobody is there to ask for permission; pass --yes"},
		{"batch tasks.jsonl --mode ask", "nobody is asked here"},
		{"batch tasks.jsonl --yes --jobs 0", "--jobs must be at least 1"},
		{"batch none.jsonl --yes", "cannot read the tasks: open none.jsonl"},
		{"batch bad.jsonl --yes", "bad.jsonl:1: dir: there is no directory"},
		{"batch bad.jsonl --yes", "bad.jsonl:2: prompt: it is empty"},
		{"batch bad.jsonl --yes", "bad.jsonl:3: tenant: a batch has no tenants"},
		{"batch bad.jsonl --yes", "bad.jsonl:4: dir: the task has a repo, too"},
		{"batch bad.jsonl --yes", "bad.jsonl:5: repo.ref: "},
		{"batch tasks.jsonl --yes --provider nobody", `unknown provider "nobody"`},
		{"batch tasks.jsonl --yes --wrong", "unknown flag: --wrong"},
		{"unknown", `unknown command "unknown"`},
	} {
		if out := h.run(strings.Fields(test.args)...); out.code != 2 || !strings.Contains(out.stderr, test.want) ||
			out.stdout != "" {
			t.Errorf("%s: %+v, not %q", test.args, out, test.want)
		}
	}
	cmd := h.command("batch", "tasks.jsonl", "--yes")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=")
	if out := runCommand(t, cmd); out.code != 4 || !strings.Contains(out.stderr, "no API key: set ANTHROPIC_API_KEY") {
		t.Errorf("without a key: %+v", out)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "bad.results")); err == nil {
		t.Error("a file with mistakes has results")
	}
	if out := h.run("batch", "tasks.jsonl", "--yes"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	h.tasks(map[string]any{"id": "a", "prompt": "task b"})
	if out := h.run("batch", "tasks.jsonl", "--yes"); out.code != 2 || !strings.Contains(out.stderr,
		"other tasks with these ids were run before") {
		t.Errorf("%+v", out)
	}
}

// With --json each status is a line, and the tasks can come from standard input.
func TestP2_JSON(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	cmd := h.command("batch", "-", "--yes", "--json", "--out", "o", "--state", "s")
	cmd.Stdin = strings.NewReader(`{"id":"a","prompt":"task a\n$ true"}` + "\n" +
		`{"id":"b","prompt":"task b","labels":{"n":"1"}}`)
	out := runCommand(t, cmd)
	if out.code != 0 || out.stderr != "" {
		t.Fatalf("%+v", out)
	}
	states := map[string][]string{}
	for line := range strings.Lines(out.stdout) {
		var s fleet.Status
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		states[s.ID] = append(states[s.ID], string(s.State))
	}
	for _, id := range []string{"a", "b"} {
		if list := states[id]; len(list) == 0 || list[len(list)-1] != "done" {
			t.Errorf("%s was %q", id, list)
		}
	}
	if r := h.results("o"); !r["b"].Done || r["b"].Labels["n"] != "1" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "s", "queue")); err != nil {
		t.Error(err)
	}
}

// waiting is a task whose second command waits for the file go. Each command leaves a line in the
// file ran.
func waiting(id string) map[string]any {
	return map[string]any{"id": id,
		"prompt": "task " + id +
			"\n$ echo one >>$HOME/ran\n$ echo two >>$HOME/ran; until [ -e $HOME/go ]; do sleep 0.05; done\n" +
			"$ echo three >>$HOME/ran"}
}

// start starts a command, and waits until a file of the home has a text.
func (h *home) start(cmd *exec.Cmd, file, text string) (wait func() output) {
	h.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		h.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	has := func() bool {
		data, err := os.ReadFile(filepath.Join(h.dir, file))
		return err == nil && strings.Contains(string(data), text)
	}
	if !await.Holds(func() bool { return len(ended) > 0 || has() }) || !has() {
		if len(ended) == 0 {
			_ = cmd.Process.Kill() // the test has failed
			<-ended
		}
		h.Fatalf("%s never had %q:\n%s\n%s", file, text, &stdout, &stderr)
	}
	return func() output {
		<-ended
		return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
	}
}

// The first Ctrl-C lets the running call end and gives the tasks back; the same command goes on
// behind it, and no command has run twice.
func TestP2_InterruptedAndContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(waiting("a"), map[string]any{"id": "b", "prompt": "task b"})
	cmd := h.command("batch", "tasks.jsonl", "--yes", "--jobs", "1")
	wait := h.start(cmd, "ran", "two")
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	h.write("go", "")
	if out := wait(); out.code != 130 || !strings.Contains(out.stderr, "to go on, run the same command again") ||
		!strings.Contains(out.stderr, "0 of 2 tasks done · 2 unfinished") {
		t.Fatalf("%+v", out)
	}
	if got := h.results("tasks.results")["a"].State; got != "queued" {
		t.Errorf("the task is %s", got)
	}
	h.write("others.jsonl", `{"id":"b","prompt":"task b"}`)
	if out := h.run("batch", "others.jsonl", "--yes", "--out", "tasks.results"); out.code != 2 ||
		!strings.Contains(out.stderr, "has 1 unfinished task that others.jsonl does not have: a") {
		t.Errorf("%+v", out)
	}
	out := h.run("batch", "tasks.jsonl", "--yes", "--jobs", "1")
	if out.code != 0 || !strings.Contains(out.stdout, "✓ a") || !strings.Contains(out.stdout, "✓ b") {
		t.Errorf("%+v", out)
	}
	if ran := h.read("ran"); ran != "one\ntwo\nthree\n" {
		t.Errorf("these commands ran: %q", ran)
	}
}

// After a kill at any time the same command goes on. The call that ran is not repeated, and the
// model is told that nobody knows how it ended.
func TestP2_KilledAndContinued(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(waiting("a"))
	cmd := h.command("batch", "tasks.jsonl", "--yes")
	wait := h.start(cmd, "ran", "two")
	second := h.run("batch", "tasks.jsonl", "--yes")
	if second.code != 1 || !strings.Contains(second.stderr, "another batch is running in ") {
		t.Errorf("beside it: %+v", second)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	out := h.run("batch", "tasks.jsonl", "--yes")
	if out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if ran := h.read("ran"); ran != "one\ntwo\nthree\n" {
		t.Errorf("these commands ran: %q", ran)
	}
	r := h.results("tasks.results")["a"]
	if session := h.read("tasks.results/" + r.Session); len(r.Deaths) != 1 || !strings.Contains(session, "unknown") {
		t.Errorf("the deaths are %+v, and the session\n%s", r.Deaths, session)
	}
}

// The budget holds for all tasks together. When it is spent, the tasks that have not begun wait for
// a run with a higher one.
func TestP2_BudgetOfTheBatch(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "a", "prompt": "task a\n$ true"},
		map[string]any{"id": "b", "prompt": "task b\n$ true"}, map[string]any{"id": "c", "prompt": "task c"})
	out := h.run("batch", "tasks.jsonl", "--yes", "--jobs", "1", "--budget-tokens", "12000")
	if out.code != 1 || !strings.Contains(out.stdout, "✓ a  ") || !strings.Contains(out.stdout,
		"✗ b  stopped at budget_tokens") ||
		!strings.Contains(out.stderr,
			"the budget of the batch is spent; to go on, run it again with a higher --budget-usd or --budget-tokens, "+
				"and with --retry") {
		t.Errorf("%+v", out)
	}
	if used := h.results("tasks.results")["b"].Result.Usage; used.Input+used.Output > 12000 {
		t.Errorf("used %+v", used)
	}
	if out := h.run("batch", "tasks.jsonl", "--yes", "--jobs", "1", "--budget-tokens", "100000",
		"--retry"); out.code != 0 || !strings.Contains(out.stdout, "✓ b  ") ||
		!strings.Contains(out.stdout, "✓ c  ") || strings.Contains(out.stdout, "✓ a") {
		t.Errorf("%+v", out)
	}
}

// The keys of the program, and the token of the queue, are nowhere that a command of the model
// could find them.
func TestP2_CommandsFindNoKeys(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "a",
		"prompt": "task a\n$ (env; cat /proc/*/environ; ps -eo args; grep -raoE 'sk-of-[t]his-test' $HOME) " +
			"2>/dev/null | tr '\\0' '\\n' >$HOME/found\n$ grep -cE 'sk-of-[t]his-test' $HOME/found >$HOME/count; true"})
	cmd := h.command("batch", "tasks.jsonl", "--yes")
	cmd.Env = append(cmd.Env, "ATTRACTOR_FLEET_TOKEN=sk-of-this-test-too")
	if out := runCommand(t, cmd); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if n := strings.TrimSpace(h.read("count")); n != "0" {
		found := h.read("found")
		t.Errorf("a command found %s:\n%.2000s", n, found)
	}
}

// What a command prints is masked before it is in the session, and in what the batch keeps.
func TestP9_SecretsStayOutOfTheLog(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.write("notes", "the key is sk-of-this-test, as everybody knows")
	h.tasks(map[string]any{"id": "a", "prompt": "task a\n$ cat $HOME/notes"})
	if out := h.run("batch", "tasks.jsonl", "--yes"); out.code != 0 || strings.Contains(out.stdout+out.stderr,
		"sk-of-this-test") {
		t.Fatalf("%+v", out)
	}
	if session := h.read("tasks.results/tasks/a/session.jsonl"); !strings.Contains(session, "as everybody knows") {
		t.Errorf("the session has no result of the command:\n%s", session)
	}
	err := filepath.WalkDir(filepath.Join(h.dir, "tasks.results"), func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if bytes.Contains(data, []byte("sk-of-this-test")) {
			t.Errorf("%s has the key", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A task whose checks do not pass has failed, although its agent says that it is done.
func TestP3_ChecksDecide(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	checks := map[string]any{"checks": []string{"grep -q fixed state"}}
	h.tasks(map[string]any{"id": "fixes", "prompt": "task fixes\n$ echo fixed >state", "agent": checks},
		map[string]any{"id": "claims", "prompt": "task claims\n$ echo broken >state", "agent": checks})
	out := h.run("batch", "tasks.jsonl", "--yes", "--check-rounds", "0")
	r := h.results("tasks.results")
	if out.code != 1 || !r["fixes"].Done || r["claims"].State != fleet.Failed || !strings.Contains(r["claims"].Reason,
		"grep -q fixed state") || r["claims"].Result == nil {
		t.Errorf("%+v\n%+v", out, r)
	}
}

// Of a task's budget and that of the flags, the lower one counts.
func TestP3_TheStricterBudget(t *testing.T) {
	got := stricter(agent.Budget{Tokens: 5, USD: 2}, agent.Budget{Tokens: 9, USD: 1, Time: time.Minute})
	if want := (agent.Budget{Tokens: 5, USD: 1, Time: time.Minute}); got != want {
		t.Errorf("%+v", got)
	}
}

// The file tools, and commands in a sandbox, do not change the state of a batch: a task in the
// directory where the batch runs would choose what the later ones do.
func TestP9_TasksDoNotChangeTheBatch(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	for _, flags := range [][]string{{"--mode", "accept-edits"}, {"--yes", "--sandbox", "workspace"}} {
		h := newHome(t, func(r *fakellm.Request) fakellm.Turn {
			return fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{
				{Name: "write_file", Args: json.RawMessage(`{"file_path":"tasks.results/state/queue/x","content":"x"}`)},
				{Name: "write_file", Args: json.RawMessage(`{"file_path":"ordinary","content":"x"}`)},
				{Name: "shell", Args: json.RawMessage(`{"command":"echo x >tasks.results/state/queue/y; echo x >z"}`)},
			}}, fakellm.Turn{Text: "Done."})(r)
		})
		h.write("place/x", "x")
		h.tasks(map[string]any{"id": "a", "prompt": "task a", "dir": "place"})
		args := append([]string{"batch", "tasks.jsonl", "--out", "place/tasks.results"}, flags...)
		if out := h.run(args...); out.code != 0 {
			t.Fatalf("%+v", out)
		}
		for name, want := range map[string]bool{"ordinary": true, "z": flags[0] == "--yes",
			"tasks.results/state/queue/x": false, "tasks.results/state/queue/y": false} {
			if _, err := os.Stat(filepath.Join(h.dir, "place", name)); (err == nil) != want {
				t.Errorf("with %q, %s is there: %v", flags, name, err == nil)
			}
		}
	}
}

// A repository can bring the state of a batch, whose sessions would count, or links in the place of
// the results.
func TestP9_StateOfSomebodyElse(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.tasks(map[string]any{"id": "a", "prompt": "task a"})
	if out := h.run("batch", "tasks.jsonl", "--yes"); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	if out := h.run("batch", "tasks.jsonl", "--yes"); out.code != 0 {
		t.Errorf("its own state: %+v", out)
	}
	if err := os.CopyFS(filepath.Join(h.dir, "theirs"), os.DirFS(filepath.Join(h.dir, "tasks.results"))); err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	for _, dir := range []string{"linkedstate", "linkedlock/state"} {
		if err := os.MkdirAll(filepath.Join(h.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"linked": elsewhere, "linkedstate/state": elsewhere,
		"linkedlock/state/lock": filepath.Join(elsewhere, "lock")} {
		if err := os.Symlink(target, filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for out, want := range map[string]string{"theirs": "was not begun here by you", "linked": "symbolic link",
		"linkedstate": "symbolic link", "linkedlock": "symbolic link"} {
		if got := h.run("batch", "tasks.jsonl", "--yes", "--out", out); got.code != 2 ||
			!strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", out, got)
		}
	}
	if got := h.run("batch", "tasks.jsonl", "--yes", "--out", "theirs", "--state", "theirs/state"); got.code != 0 {
		t.Errorf("the user has named it: %+v", got)
	}
	mark := filepath.Join(h.dir, "tasks.results", "state", "mark")
	if err := errors.Join(os.Rename(mark, mark+"-own"), os.Symlink(mark+"-own", mark)); err != nil {
		t.Fatal(err)
	}
	if got := h.run("batch", "tasks.jsonl", "--yes"); got.code != 2 || !strings.Contains(got.stderr, "symbolic link") {
		t.Errorf("a mark that is a link to the user's number: %+v", got)
	}
	if list, err := os.ReadDir(elsewhere); err != nil || len(list) > 0 {
		t.Errorf("elsewhere are %v, %v", list, err)
	}
}
