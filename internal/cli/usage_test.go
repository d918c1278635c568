//go:build unix

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A usage error is reported before a missing terminal, and leaves no session.
func TestI17_UsageBeforeTerminal(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	list, number := filepath.Join(h.dir, "list.json"), filepath.Join(h.dir, "number.json")
	for name, text := range map[string]string{list: "[]", number: `{"type":"object","properties":3}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{`--diffs must be a whole number from 0 on, not "x"`, []string{"run", "--diffs", "x", "y"}},
		{`unknown provider "acme"`, []string{"run", "--provider", "acme", "x"}},
		{`unknown profile "acme"`, []string{"run", "--profile", "acme", "x"}},
		{"cannot work in /nope: no such file or directory", []string{"run", "--dir", "/nope", "x"}},
		{"not a directory", []string{"run", "--dir", list, "x"}},
		{"attractor: --instructions: cannot read the instructions", []string{"run", "--instructions", "@/nope", "x"}},
		{"cannot read the schema", []string{"run", "--output-schema", "/nope", "x"}},
		{"list.json cannot be the schema of a result: it has to be a JSON Schema, ",
			[]string{"run", "--output-schema", list, "x"}},
		{`no session "zz"`, []string{"run", "--resume", "zz"}},
		{`no session "zz"`, []string{"run", "--fork", "zz@3", "x"}},
		{"must be a number", []string{"run", "--fork", "zz@x", "x"}},
		{"must begin with http:// or https://, followed by a host", []string{"run", "--base-url", "ftp://x", "x"}},
		{"stop or summarize", []string{"run", "--on-limit", "dance", "x"}},
		{`attractor: --fallback must be a provider and a model`, []string{"run", "--fallback", "x", "x"}},
		{`--limit is wrong: "" is not a limit`, []string{"config", "--limit", ""}},
		{"--max-journal must be at least 1", []string{"config", "--max-journal", "0x0"}},
		{`--max-turns must be a whole number from 0 on, not "-1"`, []string{"run", "--max-turns", "-1", "x"}},
		{"cannot be used together", []string{"run", "--ask", "--read-only", "x"}},
		{"cannot be used together", []string{"run", "--mode", "plan", "--yes", "x"}},
		{`--mode must be ask, accept-edits, plan or full, not "yolo"`, []string{"run", "--mode", "yolo",
			"x"}},
		{`--mode must be ask, accept-edits, plan or full, not "read-only"`,
			[]string{"run", "--mode", "read-only", "x"}},
		{"cannot work in /nope: no such file or directory", []string{"run", "--add-dir", "/nope", "x"}},
		{"there is no tool Bsh; did you mean Bash?", []string{"run", "--allow-tool", "Bsh", "x"}},
		{`--deny-tool: "Bash(" is not a rule`, []string{"run", "--deny-tool", "Bash(", "x"}},
		{"looks like a list of rules", []string{"run", "--deny-tool", "Bash(rm *), Bash(curl *)", "x"}},
		{"cannot read the image", []string{"run", "--image", "/nope", "x"}},
		{"is not a PNG, JPEG, GIF or WebP image", []string{"run", "--image", list, "x"}},
		{"prompt is empty", []string{"run"}},
		{"number.json cannot be the schema of a result: ", []string{"run", "--yes", "--output-schema", number, "x"}},
		{"prices are not known", []string{"run", "--yes", "--budget-usd", "1", "--model", "unheard-of", "x"}},
		{"missing argument <id>", []string{"sessions", "show"}},
		{"missing argument <id>", []string{"sessions", "rm"}},
		{"unknown command", []string{"sessions", "dance"}},
		{`unknown command "dance"`, []string{"help", "dance"}},
		{`unknown command "sessions dance"`, []string{"help", "sessions", "dance"}},
		{`unknown command "csh"`, []string{"completion", "csh"}},
		{"missing argument <arguments>", []string{"tool", "read_file"}},
		{`--timeout must be a duration such as 90s or 10m, not "5"`, []string{"run", "--timeout", "5", "x"}},
		{`unexpected argument "set": config shows all settings, and your own are in the file /`,
			[]string{"config", "set", "model", "x"}},
		{`unexpected argument "x"`, []string{"models", "x"}},
		{`unexpected argument "x"`, []string{"sessions", "show", "a", "x"}},
		{`unexpected argument "x"`, []string{"sessions", "diff", "a", "1", "x"}},
		{"--resume needs the id of a session", []string{"run", "--resume", "", "x"}},
		{"--resume needs the id of a session", []string{"run", "--resume", ""}},
		{"--fork needs the id of a session", []string{"run", "--fork", "", "x"}},
		{"--output-schema needs the name of a file", []string{"run", "--output-schema", "", "x"}},
		{`unexpected argument "x"`, []string{"undo", "a", "1", "x"}},
		{`unexpected argument "x"`, []string{"view", "a", "x"}},
		{`unexpected argument "x"`, []string{"trust", "a", "x"}},
		{`unexpected argument "x"`, []string{"mcp", "tools", "a", "x"}},
		{`unknown command "chek"; do you mean check?`, []string{"rules", "chek"}},
		{`unknown command "lst"; do you mean list?`, []string{"mcp", "lst"}},
		{`unknown command "sevre"`, []string{"env", "sevre"}},
		{`a task needs run in front of it: attractor run "..."`, []string{"fix the test"}},
		{"here it is attractor run", []string{"-p", "fix the test"}},
		{`unknown command "fix"; a task needs run in front of it`, []string{"fix"}},
		{`unknown command "skills"; here it is attractor commands`, []string{"skills"}},
		{`unknown command "exec"; here it is attractor run`, []string{"exec", "fix the test"}},
		{`unknown command "login"; here it is a key in a variable`, []string{"login"}},
		{`unknown command "add"; here it is a file (attractor mcp --help)`, []string{"mcp", "add", "files"}},
		{"here it is --resume (docs/coming-from)", []string{"-r", "3f2c"}},
		{"it is a flag of attractor run and attractor chat", []string{"--continue"}},
		{`--budget-usd must be a number from 0 on, not "nan"`, []string{"run", "--budget-usd", "nan", "x"}},
		{`--budget-usd must be a number from 0 on, not "inf"`, []string{"run", "--budget-usd", "inf", "x"}},
		{"--check-rounds cannot be negative", []string{"run", "--check-rounds", "-1", "x"}},
	} {
		out := h.run(exitUsage, c.args...)
		if !strings.Contains(out.stderr, c.want) || strings.Contains(out.stderr, "terminal") || out.stdout != "" {
			t.Errorf("%v: stdout %q, stderr %q, want %q", c.args, out.stdout, out.stderr, c.want)
		}
	}
	if list := h.sessions(); len(list) != 0 {
		t.Errorf("usage errors left sessions: %+v", list)
	}
	if out := h.run(exitUsage, "run", "x"); !strings.Contains(out.stderr, "no terminal to ask") {
		t.Errorf("a correct command line does not report the missing terminal: %q", out.stderr)
	}
}

// An error names its source at most once, and none of this module's packages.
func TestI17_NoDoubledPrefix(t *testing.T) {
	for text, want := range map[string]string{
		"agent: the journal is empty":                             "the journal is empty",
		"agent: the journal: journal: session x: no such file":    "the journal: session x: no such file",
		"cannot keep the session: journal: no space\nagent: that": "cannot keep the session: no space\nthat",
		"anthropic: the server says no":                           "anthropic: the server says no",
	} {
		if got := render.Error(text); got != want {
			t.Errorf("Error(%q) = %q, want %q", text, got, want)
		}
	}
	h := newHome(t, "http://127.0.0.1:1")
	file := filepath.Join(h.home, ".local", "state", "attractor", "sessions", "broken.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"sessions", "show", "broken"}, {"sessions", "export", "broken"},
		{"run", "--yes", "--resume", "broken", "x"}} {
		for line := range strings.Lines(h.run(exitFailed, args...).stderr) {
			if strings.Contains(line, "agent: ") || strings.Contains(line, "journal: ") {
				t.Errorf("%v names a package: %s", args, line)
			}
		}
	}
}

// An unknown model or effort is probably a typing error: the person gets a warning, and the name is
// used.
func TestI17_UnknownNamesAreWarnings(t *testing.T) {
	url, server := serve(t, nil, fakellm.Turn{Text: "x"})
	h := newHome(t, url)
	for _, c := range []struct {
		args []string
		want string // in the warning; empty if there must be none
	}{
		{[]string{"--model", "claude-unheard-of"}, `The model "claude-unheard-of" of anthropic`},
		{[]string{"--effort", "hihg"}, `effort "hihg"`},
		{[]string{"--effort", "high"}, ""},
		{[]string{"--provider", "openai-compatible", "--base-url", url + "/v1", "--model", "mine"},
			`The model "mine" of openai-compatible`},
	} {
		for _, more := range [][]string{nil, {"--json"}} {
			out := h.run(0, append(append([]string{"run", "--yes", "x"}, c.args...), more...)...)
			mark := map[bool]string{false: "! ", true: "attractor: warning: "}[more != nil]
			if got := strings.Count(out.stderr, mark); (got == 1) != (c.want != "") || got > 1 ||
				!strings.Contains(out.stderr, c.want) {
				t.Errorf("%v %v: stderr %q, want a warning %q", c.args, more, out.stderr, c.want)
			}
		}
	}
	if body := string(server.Requests()[0].Body); !strings.Contains(body, "claude-unheard-of") {
		t.Errorf("the request does not name the model: %.300s", body)
	}
}

func TestI17_VersionAndCompletion(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	if flag, word := h.run(0, "--version").stdout, h.run(0, "version").stdout; flag != word ||
		!strings.HasPrefix(flag, "attractor ") {
		t.Errorf("--version prints %q, version %q", flag, word)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out := h.run(0, "completion", shell); !strings.Contains(out.stdout, "__complete") || out.stderr != "" {
			t.Errorf("%s: %.200q, %q", shell, out.stdout, out.stderr)
		}
	}
	for args, want := range map[string]string{"run --provider ": "anthropic\n", "run --profile ": "gemini\n",
		"run --effort ": "high\n", "run --mode ": "plan\n", "run --on-limit ": "summarize\n",
		"tools --profile ": "openai\n",
		"run --model ":     "claude-opus-5-5\n", "completion ": "fish\n", "ses": "sessions\t",
		"sessions ": "export\t", "run --deny-tool X --deny-": "--deny-tool\t"} {
		words := strings.Split(args, " ")
		if out := h.run(0, append([]string{"__complete"}, words...)...); !strings.Contains(out.stdout, want) {
			t.Errorf("%q completes to %q, want %q", args, out.stdout, want)
		}
	}

	// A real shell loads the script and registers the completion.
	bash := peer.Need(t, "bash")
	script := h.run(0, "completion", "bash").stdout
	cmd := exec.Command(bash, "--norc", "-c", script+`
_get_comp_words_by_ref() { COMPREPLY=(); }
declare -F __start_attractor && complete -p attractor`)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "__start_attractor attractor") {
		t.Errorf("bash: %v\n%s", err, out)
	}
}

// The answer is printed once if both streams go to the same place. Otherwise standard output has
// the answer alone.
func TestI17_AnswerOnce(t *testing.T) {
	url, _ := serve(t, nil, say("First a look.", use("shell", map[string]any{"command": "true"})),
		fakellm.Turn{Text: "THE ANSWER.\nof two lines"})
	h := newHome(t, url)
	once := func(what, text string) {
		t.Helper()
		if strings.Count(text, "THE ANSWER.\nof two lines\n") != 1 || !strings.Contains(text, "done · 2 turns") {
			t.Errorf("%s:\n%s", what, text)
		}
	}
	prepare := func() *exec.Cmd {
		cmd := attractorCommand(t, "run", "--yes", "the task")
		cmd.Dir, cmd.Env = h.dir, append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL="+url)
		return cmd
	}
	out, err := prepare().CombinedOutput() // both streams go to one pipe
	if err != nil {
		t.Fatal(err)
	}
	once("one pipe", string(out))

	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := prepare()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	once("one file", string(data))

	apart := runCommand(t, prepare())
	if apart.stdout != "THE ANSWER.\nof two lines\n" {
		t.Errorf("standard output alone: %q", apart.stdout)
	}
	once("standard error alone", apart.stderr)
}

// A result that was not shown as it arrived is printed, even if both streams go to the same place.
func TestI17_AnswerNotShownBefore(t *testing.T) {
	url, _ := serve(t, nil, say("thinking aloud"), say("", use("final_result", map[string]any{"count": 3})))
	h := newHome(t, url)
	schema := filepath.Join(h.dir, "schema.json")
	if err := os.WriteFile(schema,
		[]byte(`{"type":"object","properties":{"count":{"type":"integer"}},"required":["count"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := attractorCommand(t, "run", "--yes", "--output-schema", schema, "count")
	cmd.Dir, cmd.Env = h.dir, append(cmd.Env, "ANTHROPIC_API_KEY=key-of-a-test", "ANTHROPIC_BASE_URL="+url)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "\n{\"count\":3}\n") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}
