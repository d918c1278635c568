package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

// agent is a program that asks a model and runs commands.
type agent struct {
	name string
	tool string // its tool for commands
	// task returns the command that does a task in a directory against a server.
	task  func(home, dir, url string) *exec.Cmd
	every int
	// optional agents are left out when they fail.
	optional bool
}

const ourName = "attractor"

// agents returns all agents that are there, ours first, and the names of those that are not.
func (b *bench) agents() (all []agent, missing []string, err error) {
	ours, err := b.program("attractor")
	if err != nil {
		return nil, nil, err
	}
	all = append(all, agent{name: ourName, tool: "shell", task: func(_, dir, url string) *exec.Cmd {
		return exec.Command(ours, "run", "--yes", "--dir", dir, "--base-url", url, "go")
	}})
	for _, a := range []struct{ program, name string }{{"loop", "a bare loop"}, {"fantasy", "fantasy"},
		{"anthropic", "anthropic-sdk-go"},
		{"openai", "openai-go"}, {"gemini", "genai"}} {
		path, err := b.program(a.program)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, agent{name: a.name, tool: "bash",
			task: func(_, _, url string) *exec.Cmd { return exec.Command(path, url, "go") }})
	}
	for _, a := range []agent{{name: "codex", tool: "exec_command", task: codex, every: 4, optional: true},
		{name: "claude", tool: "Bash", task: claude, every: 4, optional: true}} {
		if _, err := exec.LookPath(a.name); err != nil {
			missing = append(missing, a.name)
			continue
		}
		all = append(all, a)
	}
	return all, missing, nil
}

// codex returns a command of OpenAI's agent, without its sandbox, which needs privileges of its
// own.
func codex(home, dir, url string) *exec.Cmd {
	config := fmt.Sprintf(`model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "%s/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
supports_websockets = false
`, url)
	cmd := exec.Command("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--cd",
		dir, "go")
	cmd.Env = append(environment(home), "OPENAI_API_KEY=k", "CODEX_HOME="+filepath.Join(home, ".codex"))
	err := os.MkdirAll(filepath.Join(home, ".codex"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".codex", "config.toml"), []byte(config), 0o600)
	}
	cmd.Err = errors.Join(cmd.Err, err)
	return cmd
}

// claude returns a command of Anthropic's agent.
func claude(home, dir, url string) *exec.Cmd {
	cmd := exec.Command("claude", "-p", "go", "--model", "claude-sonnet-4-5", "--allowed-tools", "Bash")
	cmd.Dir = dir
	cmd.Env = append(environment(home), "ANTHROPIC_BASE_URL="+url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1")
	return cmd
}

// rounds returns a contestant: the agent's session of a number of rounds, each with one command, in
// a directory or an empty one. All its runs have one home, as a user's have: in a new one an agent
// first makes its directories.
func (a agent) rounds(b *bench, n int, dir string) contestant {
	home := filepath.Join(b.temp, "home of "+a.name)
	return a.roundsAt(b, n, dir, func(string) string { return home })
}

// first returns a contestant like rounds, each of whose runs is the agent's first in a new home.
func (a agent) first(b *bench, n int) contestant {
	return a.roundsAt(b, n, "", func(empty string) string { return filepath.Join(empty, "home") })
}

// roundsAt returns a contestant like rounds, with homes that may depend on the empty directory of
// the run.
func (a agent) roundsAt(b *bench, n int, dir string, homeOf func(empty string) string) contestant {
	c := contestant{name: fmt.Sprintf("%s %d", a.name, n), every: a.every, optional: a.optional}
	run := ""
	c.command = func(empty string) *exec.Cmd {
		where, home := dir, homeOf(empty)
		if where == "" {
			where = empty
		}
		run = filepath.Base(empty)
		err := os.MkdirAll(home, 0o700)
		cmd := a.task(home, where, fmt.Sprintf("%s/shell/%s/%s/%d", b.url, run, a.tool, n))
		if cmd.Env == nil {
			cmd.Env = environment(home)
		}
		cmd.Err = errors.Join(cmd.Err, err)
		return cmd
	}
	c.check = func() error {
		var calls int
		if err := b.get("/calls/"+run, &calls); err != nil {
			return err
		}
		if calls != n {
			return fmt.Errorf("%d rounds instead of %d", calls, n)
		}
		return nil
	}
	return c
}

// get reads a number from the server.
func (b *bench) get(path string, into *int) error {
	resp, err := http.Get(b.url + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = fmt.Fscan(resp.Body, into)
	return err
}
