package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/peer"
)

// evals runs tasks whose evaluation is the same, and returns the results.
func (h *home) evals(args ...string) (output, map[string]resultLine) {
	h.Helper()
	out := h.run(append([]string{"batch", "tasks.jsonl", "--yes", "--report", "model,label:prompt"}, args...)...)
	if out.code != 0 {
		h.Fatalf("%+v", out)
	}
	return out, h.results("tasks.results")
}

// An agent is judged by hidden files, a patch with tests, a command and an answer, which it does
// not see. What the patch of the task has is the agent's alone. The report has rates and costs by
// model and by label.
func TestP2_Evaluation(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.repository("repo")
	hidden := map[string]any{"files": map[string]string{"hidden/test.sh": "grep -q good made.txt\n"},
		"check": "sh hidden/test.sh || { echo the test failed; exit 3; }"}
	patch := "--- a/README.md\n+++ b/README.md\n@@ -1 +1,2 @@\n" + patched(h.read("repo/README.md")) +
		"--- /dev/null\n+++ b/new_test.sh\n@@ -0,0 +1 @@\n+true\n"
	task := func(id, does string, eval map[string]any, model, prompt string) map[string]any {
		return map[string]any{"id": id, "prompt": "task " + id + "\n$ " + does, "repo": map[string]any{"url": "repo"},
			"eval":  eval,
			"agent": map[string]any{"model": model}, "labels": map[string]string{"prompt": prompt}}
	}
	const small, large = "claude-haiku-4-5", "claude-sonnet-5-5"
	h.tasks(task("good", "echo good >made.txt; ls hidden new_test.sh", hidden, small, "terse"),
		task("bad", "echo bad >made.txt", hidden, large, "terse"),
		task("patched", "echo mine >>README.md", map[string]any{"patch": patch, "check": "sh new_test.sh && grep -q " +
			"added README.md && ! grep -q mine README.md"}, small, "long"),
		task("unpatched", "rm README.md", map[string]any{"patch": "--- a/none\n+++ b/none\n@@ -1 +1 @@\n-x\n+y\n",
			"check": "true"}, large, "long"),
		task("answers", "true", map[string]any{"answer": " All of task answers is done.\n"}, small, "long"),
		task("errs", "true", map[string]any{"answer": map[string]any{"value": 42}, "check": "touch never"}, small,
			"long"),
		task("slow", "true", map[string]any{"check": "sleep 1000", "time": "100ms"}, large, "long"))
	out, results := h.evals()
	for id, want := range map[string]string{"good": "", "bad": "exit code 3: the test failed", "patched": "",
		"unpatched": "the patch cannot be applied", "answers": "", "errs": `the answer is not {"value":42}`,
		"slow": "has not ended within 100ms"} {
		v := results[id].Verdict
		if v == nil || v.Passed != (want == "") || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %+v, want %q", id, v, want)
		}
	}
	if patch := h.read("tasks.results/" + results["patched"].Patch); !strings.Contains(patch, "+mine") ||
		strings.Contains(patch, "new_test.sh") {
		t.Errorf("the patch of the task: %s", patch)
	}
	if session := h.read("tasks.results/" + results["good"].Session); !strings.Contains(session, "cannot access") {
		t.Errorf("the agent has seen what is hidden: %s", session)
	}
	if !strings.Contains(out.stdout, "✓ bad  ") || !strings.Contains(out.stdout,
		"not passed: exit code 3: the test failed") {
		t.Errorf("the board says\n%s", out.stdout)
	}
	report := h.read("tasks.results/report.md")
	for _, want := range []string{"| model | label:prompt | passed | rate | 95 % between | cost | cost of a pass | " +
		"tokens | median time |",
		"| " + small + " | terse | 1 of 1 | 100.0 % | 20.7 % and 100.0 % | $0.0",
		"| " + small + " | long | 2 of 3 | 66.7 % |",
		"| " + large + " | terse | 0 of 1 | 0.0 % | 0.0 % and 79.3 % | $0.0"} {
		if !strings.Contains(report, want) || !strings.Contains(out.stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
}

// A report names what sessions began with, also if the task leaves that to the flags. A task that
// could not begin counts with those that ask for the same.
func TestP2_ReportOfWhatRan(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	own := map[string]any{"id": "own", "prompt": "task own\n$ true",
		"agent": map[string]any{"model": "claude-sonnet-5-5"}}
	h.tasks(map[string]any{"id": "flag", "prompt": "task flag\n$ true"}, own,
		map[string]any{"id": "never", "prompt": "x", "environment": "none"})
	for range 2 { // what is done already is reported again
		out := h.run("batch", "tasks.jsonl", "--yes", "--model", "claude-haiku-4-5", "--report",
			"provider,model,profile")
		for _, want := range []string{"| anthropic | claude-haiku-4-5 | anthropic | 1 of 2 |",
			"| anthropic | claude-sonnet-5-5 | anthropic | 1 of 1 |"} {
			if !strings.Contains(out.stdout, want) {
				t.Errorf("the report lacks %q:\n%+v", want, out)
			}
		}
	}
	if with := h.results("tasks.results")["flag"].Agent; with == nil || with.Model != "claude-haiku-4-5" {
		t.Errorf("the result says that the session began with %+v", with)
	}
}

// A patch of tests is applied whatever the agent has done to its files and to the repository, and
// whatever they are called. Nothing is written through links that lead out of the workspace.
func TestP2_EvaluationOfOddFiles(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.repository("repo")
	h.write("outside/kept", "mine")
	h.write("repo/dir/test", "one\n")
	h.write("repo/old name", "one\ntwo\nthree\nfour\n")
	h.write("repo/[x]", "one\n")
	h.write("repo/crlf", "one\r\n")
	h.git("repo", "add", ".")
	h.git("repo", "commit", "-qm", "files")
	h.git("repo", "mv", "old name", "new ü")
	h.write("repo/dir/test", "two\n-- a/none\n")
	h.write("repo/[x]", "two\n")
	h.write("repo/crlf", "one\r\ntwo\r\n")
	h.write("repo/made/test", "two\n")
	h.write("repo/bin", "two\x00\n")
	h.git("repo", "add", ".")
	patch := h.git("repo", "diff", "--cached", "--binary", "-M", "HEAD")
	h.git("repo", "reset", "-q", "--hard")
	out := filepath.Join(h.dir, "outside")
	task := func(id, does string, eval map[string]any) map[string]any {
		return map[string]any{"id": id, "prompt": "task " + id + "\n$ " + does, "repo": map[string]any{"url": "repo"},
			"eval": eval}
	}
	const all = `grep -q two dir/test && grep -q two "[x]" && grep -q two crlf && grep -q two made/test && [ -e bin ] && [ -e "new ü" ] && [ ! -e "old name" ]`
	patched := map[string]any{"patch": patch, "check": all}
	files := map[string]any{"files": map[string]string{"dir/test": "two\n", "dir/kept": "two\n", "in/test": "two\n"},
		"check": "grep -q two dir/test && grep -q two dir/kept && grep -q two in/test"}
	h.tasks(task("untouched", "true", patched),
		task("commits", "for f in dir/test '[x]' crlf 'old name'; do echo x >>\"$f\"; done; echo x >bin; git add . "+
			"&& git -c user.name=A -c user.email=a@example.com commit -qam x", patched),
		task("makes", "mkdir made 'new ü'; echo mine >made/test; echo mine >bin; touch 'new ü/x'; rm crlf; mkdir "+
			"crlf; touch crlf/x", patched),
		task("links", "rm -r dir; ln -s "+out+" dir; ln -s "+out+" made; ln -s "+out+"/kept bin", patched),
		task("linked", "rm -r dir; ln -s "+out+" dir; mkdir real; ln -s real in; ln -s "+out+"/kept real/test", files),
		task("linked-file", "ln -s "+out+"/kept dir/kept; echo x >in", files))
	run := h.run("batch", "tasks.jsonl", "--yes")
	for id, line := range h.results("tasks.results") {
		if line.Verdict == nil || !line.Verdict.Passed {
			t.Errorf("%s: %+v, %+v", id, line.Verdict, run)
		}
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 1 || h.read("outside/kept") != "mine" {
		t.Errorf("outside there is %v, %v", left, err)
	}
}

// patched returns the lines of a hunk that adds one behind the first of a text.
func patched(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return " " + first + "\n+added\n"
}

// The instances of SWE-bench are tasks: the repository at its commit, the tests behind the agent's
// work, and the patches for its harness.
func TestP3_SWEBench(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.repository("mirror/acme/shop")
	commit := strings.TrimSpace(h.git("mirror/acme/shop", "rev-parse", "HEAD"))
	h.write("mirror/acme/shop/later", "x")
	h.git("mirror/acme/shop", "add", ".")
	h.git("mirror/acme/shop", "commit", "-qm", "later")
	instance := func(id, does string, tests any) map[string]any {
		return map[string]any{"instance_id": id, "repo": "acme/shop", "base_commit": commit,
			"problem_statement": "task " + id + "\n$ " + does,
			"hints_text":        "", "version": "1", "patch": "the solution", "FAIL_TO_PASS": tests,
			"PASS_TO_PASS": "[]",
			"test_patch": "--- /dev/null\n+++ b/run.sh\n@@ -0,0 +1 @@\n+[ ! -e later ] && for t; do test -e \"$t\" " +
				"|| exit 1; done\n"}
	}
	h.tasks(instance("acme__shop-1", "touch 'a b' c", `["a b", "c"]`),
		instance("acme__shop-2", "touch c", []string{"a b", "c"}))
	_, results := h.evals("--format", "swe-bench", "--repos", filepath.Join(h.dir, "mirror"), "--tests",
		"sh run.sh {tests}")
	if one, two := results["acme__shop-1"].Verdict, results["acme__shop-2"].Verdict; one == nil || !one.Passed ||
		two == nil || two.Passed {
		t.Errorf("the verdicts: %+v, %+v", one, two)
	}
	var first struct {
		ID    string `json:"instance_id"`
		Model string `json:"model_name_or_path"`
		Patch string `json:"model_patch"`
	}
	line, _, _ := strings.Cut(h.read("tasks.results/predictions.jsonl"), "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil || first.ID != "acme__shop-1" || first.Model == "" ||
		!strings.Contains(first.Patch, "+++ b/a b") && !strings.Contains(first.Patch, `b/a b`) {
		t.Errorf("the predictions: %v, %s", err, line)
	}
	patch := "tasks.results/tasks/acme__shop-1/changes.patch"
	whole := h.read(patch)
	if err := os.Remove(filepath.Join(h.dir, patch)); err != nil {
		t.Fatal(err)
	}
	h.evals("--format", "swe-bench", "--repos", filepath.Join(h.dir, "mirror"), "--tests", "sh run.sh {tests}")
	again, _, _ := strings.Cut(h.read("tasks.results/predictions.jsonl"), "\n")
	if again != line || h.read(patch) != whole {
		t.Errorf("after somebody has removed a patch the next run has\n%s\n%s", again, h.read(patch))
	}
}

// The tasks of Terminal-Bench are directories, in both of its formats.
func TestP3_TerminalBench(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	dir := filepath.Join(h.dir, "bench")
	if err := os.CopyFS(dir, os.DirFS("testdata/terminal-bench")); err != nil {
		t.Fatal(err)
	}
	tasks, err := terminalBench(dir, func(task *fleet.Task) error {
		task.Environment = "box"
		return task.Check()
	})
	if err != nil || len(tasks) != 2 {
		t.Fatalf("%v, %v", tasks, err)
	}
	if one := tasks[0]; one.ID != "hello" || one.Labels["difficulty"] != "easy" ||
		time.Duration(one.Budget.Time) != 6*time.Minute ||
		time.Duration(one.Eval.Time) != time.Minute || len(one.Eval.Files) != 2 {
		t.Errorf("the first: %+v, %+v", one, one.Eval)
	}
	if two := tasks[1]; two.ID != "second" || !strings.HasPrefix(two.Prompt, "task second") ||
		len(two.Eval.Files) != 1 || !strings.Contains(two.Eval.Check, "/logs/verifier/reward.txt") ||
		two.Labels["difficulty"] != "hard" ||
		time.Duration(two.Budget.Time) != 15*time.Minute || time.Duration(two.Eval.Time) != 50*time.Minute {
		t.Errorf("the second: %+v, %+v", two, two.Eval)
	}
	out := h.run("batch", "bench", "--format", "terminal-bench", "--yes")
	if want := "second: its test writes outside of the workspace"; out.code != 2 ||
		!strings.Contains(out.stderr, want) {
		t.Errorf("a task for a container runs here: %+v", out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "second")); err != nil {
		t.Fatal(err)
	}
	out = h.run("batch", "bench", "--format", "terminal-bench", "--yes", "--report", "label:difficulty")
	if v := h.results("bench.results")["hello"].Verdict; out.code != 0 || v == nil || !v.Passed ||
		!strings.Contains(out.stdout, "| easy | 1 of 1 |") {
		t.Errorf("%+v, %+v", v, out)
	}
}

// In a directory of the user's nothing is removed to make way for the files of an evaluation.
func TestP2_EvaluationInADirectory(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.write("place/there", "x")
	h.write("outside/there", "x")
	link := filepath.Join(h.dir, "place", "tests")
	if err := os.Symlink(filepath.Join(h.dir, "outside"), link); err != nil {
		t.Fatal(err)
	}
	h.tasks(map[string]any{"id": "a", "dir": "place", "prompt": "task a\n$ true",
		"eval": map[string]any{"files": map[string]string{"tests/new": "x"}, "check": "true"}})
	out := h.run("batch", "tasks.jsonl", "--yes")
	v := h.results("tasks.results")["a"].Verdict
	if out.code != 0 || v == nil || v.Passed || !strings.Contains(v.Reason, "could not be run") {
		t.Errorf("%+v, %+v", v, out)
	}
	if _, err := os.Readlink(link); err != nil {
		t.Errorf("the user's link: %v", err)
	}
	if _, err := os.Stat(filepath.Join(h.dir, "outside", "new")); err == nil {
		t.Error("a file was written outside of the directory")
	}
}

// Mistakes in evaluations are told before anything runs.
func TestP3_WrongEvaluations(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	for line, want := range map[string]string{
		`{"id":"a","prompt":"x","dir":"/tmp","eval":{"check":"x","patch":"y"}}`: "eval.patch: it would undo what is " +
			"not committed",
		`{"id":"a","prompt":"x","eval":{}}`: "eval: it has neither a check nor " +
			"an answer",
		`{"id":"a","prompt":"x","eval":{"check":"x","files":{"../up":"x"}}}`: `"../up" is no path in the workspace`,
		`{"id":"a","prompt":"x","eval":{"check":"x","time":"-1s"}}`:          "eval.time: it is negative",
		`{"id":"a","prompt":"x","eval":{"check":"x","cheque":1}}`:            "eval.cheque: there is no such field",
	} {
		h.write("wrong.jsonl", line+"\n")
		if out := h.run("batch", "wrong.jsonl", "--yes"); out.code != 2 || !strings.Contains(out.stderr, want) {
			t.Errorf("%s: %+v, want %q", line, out, want)
		}
	}
	h.write("wrong.jsonl", `{"instance_id":7}`+"\n")
	h.write("instances.jsonl", strings.Repeat(`{"instance_id":"a","repo":"acme/shop","base_commit":"1","problem_statement":"x"}`+"\n", 2))
	want := "attractor-fleet: instances.jsonl has instances of SWE-bench: run them with attractor-fleet batch " +
		"--format swe-bench\n"
	if out := h.run("batch", "instances.jsonl", "--yes"); out.code != 2 || out.stderr != want {
		t.Errorf("%+v, want %q", out, want)
	}
	h.write("array.jsonl", "[\n{\"instance_id\":\"a\"}]\n")
	for want, args := range map[string][]string{"is no instance of SWE-bench": {"--format", "swe-bench"},
		`--format: there is no "csv"`: {"--format", "csv"}, `--report: there is no "cost"`: {"--report", "cost"},
		"not a directory": {"--format", "terminal-bench"}, "is a JSON array": {"array.jsonl"}} {
		if out := h.run(append([]string{"batch", "--yes"}, files(args)...)...); out.code != 2 ||
			!strings.Contains(out.stderr, want) {
			t.Errorf("%q: %+v, want %q", args, out, want)
		}
	}
}

// A worker judges the tasks of a queue, too, and the list has the verdicts, without its keys.
func TestP2_QueuedEvaluation(t *testing.T) {
	t.Parallel()
	h := newFleet(t)
	h.worker("w1", "--yes")
	eval := func(check string) map[string]any { return map[string]any{"check": check} }
	h.tasks(map[string]any{"id": "good", "prompt": "task good\n$ echo x >made", "eval": eval("grep -q x made")},
		map[string]any{"id": "bad", "prompt": "task bad", "eval": eval("printf 'sk-of-%s' this-test; exit 1")})
	if out := h.client("submit", "--file", "tasks.jsonl", "--wait"); out.code != 0 ||
		!strings.Contains(out.stderr, "not passed: exit code 1: [secret ANTHROPIC_API_KEY]") {
		t.Errorf("%+v", out)
	}
	list := h.client("list").stdout
	for _, want := range []string{" · passed\n", " · not passed: exit code 1: [secret ANTHROPIC_API_KEY]\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q:\n%s", want, list)
		}
	}
}

// files returns arguments with a file of tasks.
func files(args []string) []string {
	if strings.HasPrefix(args[0], "--") {
		return append([]string{"wrong.jsonl"}, args...)
	}
	return args
}

// A dataset may begin with a byte order mark, end its lines as Windows does, and have no tests.
func TestP3_LinesOfDatasets(t *testing.T) {
	t.Parallel()
	swe := sweBench{repos: "https://example.com/", tests: "run {tests}"}
	const line = `{"instance_id":"a__b-1","repo":"a/b","base_commit":"x","problem_statement":"p","FAIL_TO_PASS":null,"PASS_TO_PASS":""}`
	tasks, err := readLines(strings.NewReader("\ufeff"+line+"\r\n"), "f", func(line []byte) (fleet.Task, []error) {
		return swe.task(line, func(task *fleet.Task) error { return task.Check() })
	})
	if err != nil || len(tasks) != 1 || tasks[0].Eval.Check != "run " {
		t.Errorf("%+v, %v", tasks, err)
	}
}

// A report counts what has ended: a task that was judged nowhere yet has not failed.
func TestP2_ReportOfAnUnfinishedBatch(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	done := func(after time.Duration, passed bool) resultLine {
		return resultLine{Done: true, Status: fleet.Status{Started: at, Ended: at.Add(after),
			Verdict: &fleet.Verdict{Passed: passed}}}
	}
	var tasks []fleet.Task
	for _, id := range []string{"a", "b", "c", "d"} {
		tasks = append(tasks, fleet.Task{ID: id, Eval: &fleet.Eval{},
			Labels: map[string]string{"half": map[bool]string{true: "x", false: "y"}[id < "d"]}})
	}
	r := newReport([]string{"label:half"}, tasks,
		map[string]resultLine{"a": done(2*time.Second, true), "b": done(4*time.Second, false)})
	var text strings.Builder
	if err := r.write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| x | 1 of 2, 1 unfinished | 50.0 % |", "| 3s |\n",
		"| y | 0 of 0, 1 unfinished | - | - |"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &text)
		}
	}
}

// A batch that was killed while it judged a task judges it again, by what the agent has left. A
// task whose session came to a limit is judged, too, and a check that does not want to end is
// ended.
func TestP2_KilledWhileItJudges(t *testing.T) {
	t.Parallel()
	h := newHome(t, nil)
	h.repository("repo")
	task := func(id, does string, agent, eval map[string]any) map[string]any {
		return map[string]any{"id": id, "prompt": "task " + id + "\n$ " + does, "repo": map[string]any{"url": "repo"},
			"agent": agent, "eval": eval}
	}
	h.tasks(task("a", "echo good >made", map[string]any{}, map[string]any{"files": map[string]string{"test": "x"},
		"check": "echo x >>$HOME/checks; grep -q good made && echo bad >made; until [ -e $HOME/go ]; do sleep " +
			"0.05; done"}),
		task("limited", "echo good >made", map[string]any{"max_turns": 1},
			map[string]any{"check": "grep -q good made"}),
		task("stays", "true", map[string]any{},
			map[string]any{"time": "1s", "check": "trap '' TERM; echo $$ >$HOME/pid; while :; do sleep 0.05; done"}))
	cmd := h.command("batch", "tasks.jsonl", "--yes", "--jobs", "1") // the others have not begun
	wait := h.start(cmd, "checks", "x")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wait()
	h.write("go", "")
	out := h.run("batch", "tasks.jsonl", "--yes", "--report", "model")
	r := h.results("tasks.results")
	if v := r["a"].Verdict; v == nil || !v.Passed || h.read("checks") != "x\nx\n" || len(r["a"].Deaths) != 1 {
		t.Errorf("%+v, %+v, %+v", v, r["a"], out)
	}
	if l := r["limited"]; l.Done || l.Verdict == nil || !l.Verdict.Passed {
		t.Errorf("%+v, %+v, %+v", l.Verdict, l, out)
	}
	if v := r["stays"].Verdict; v == nil || !strings.Contains(v.Reason, "has not ended within 1s") {
		t.Errorf("%+v, %+v", v, out)
	}
	if out.code != 1 || !strings.Contains(h.read("tasks.results/report.md"), "| 2 of 3 |") {
		t.Errorf("%+v", out)
	}
	pid, err := os.ReadFile(filepath.Join(h.dir, "pid"))
	// it may not have come so far
	if err == nil && exec.Command("kill", "-0", strings.TrimSpace(string(pid))).Run() == nil {
		t.Error("the check that does not want to end still runs")
	}
}

// git runs git in a directory of the home and returns its output.
func (h *home) git(dir string, args ...string) string {
	h.Helper()
	cmd := exec.Command("git", append([]string{"-C", filepath.Join(h.dir, dir), "-c", "user.name=A", "-c",
		"user.email=a@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// A check runs as the commands of the agent did, which writes what checks run: in the sandbox of
// the flags, without the keys, and what it prints is masked.
func TestP9_ChecksAreConfined(t *testing.T) {
	t.Parallel()
	peer.Need(t, "bwrap")
	h := newHome(t, nil)
	const prints = "env; printf 'the key is sk-of-%s, as everybody knows' this-test; "
	h.tasks(map[string]any{"id": "a", "prompt": "task a\n$ echo 'echo out >\"$1\"' >run.sh",
		"eval": map[string]any{"check": prints + "sh run.sh " + filepath.Join(h.dir, "out") + "; exit 1"}},
		map[string]any{"id": "b", "prompt": "task b", "eval": map[string]any{"check": prints + "exit 1"}})
	for _, level := range []string{"workspace", "off"} {
		out := h.run("batch", "tasks.jsonl", "--yes", "--sandbox", level, "--out", level)
		one, two := h.results(level)["a"].Verdict, h.results(level)["b"].Verdict
		if out.code != 0 || one == nil || two == nil || one.Passed || !strings.Contains(one.Reason, "everybody knows") {
			t.Fatalf("%s: %+v, %+v, %+v", level, one, two, out)
		}
		if said := one.Reason + two.Reason + out.stdout; strings.Contains(said, "sk-of-this-test") ||
			strings.Contains(said, "ANTHROPIC_API_KEY=") {
			t.Errorf("%s: the verdicts have the key: %s", level, said)
		}
		_, err := os.Stat(filepath.Join(h.dir, "out"))
		if wrote := err == nil; wrote != (level == "off") {
			t.Errorf("%s: a check wrote outside: %v", level, wrote)
		}
	}
}
