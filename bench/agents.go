package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// agent is a program that asks a model and runs commands.
type agent struct {
	name string
	tool string // its tool for commands
	// task returns the command that does a task in a directory against a server.
	task func(home, dir, url string) *exec.Cmd
	// vendors' agents are slow, and left out when they are missing or fail.
	vendors bool
}

// agents returns all agents, ours first.
func (b *bench) agents() ([]agent, error) {
	ours, err := b.program("attractor")
	if err != nil {
		return nil, err
	}
	all := []agent{{name: "attractor", tool: "shell", task: func(_, dir, url string) *exec.Cmd {
		return exec.Command(ours, "run", "--yes", "--dir", dir, "--base-url", url, "go")
	}}}
	for _, a := range []struct{ program, name string }{
		{"loop", bareLoop},
		{"fantasy", "fantasy"},
		{"anthropic", "anthropic-sdk-go"},
		{"openai", "openai-go"},
		{"gemini", "genai"},
	} {
		path, err := b.program(a.program)
		if err != nil {
			return nil, err
		}
		all = append(all, agent{name: a.name, tool: "bash",
			task: func(_, _, url string) *exec.Cmd { return exec.Command(path, url, "go") }})
	}
	return append(all, agent{name: "codex", tool: "exec_command", task: codex, vendors: true},
		agent{name: "claude", tool: "Bash", task: claude, vendors: true}), nil
}

const bareLoop = "a bare loop"

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
	cmd := exec.Command("codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox",
		"--cd", dir, "go")
	cmd.Env = append(environment(home), "OPENAI_API_KEY=k", "CODEX_HOME="+filepath.Join(home, ".codex"))
	err := os.MkdirAll(filepath.Join(home, ".codex"), 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(home, ".codex", "config.toml"), []byte(config), 0o600)
	}
	cmd.Err = errors.Join(cmd.Err, err)
	return cmd
}

// claude returns a command of Anthropic's agent.
func claude(home, _, url string) *exec.Cmd {
	cmd := exec.Command("claude", "-p", "go", "--model", "claude-sonnet-4-5", "--allowed-tools", "Bash")
	cmd.Env = append(environment(home), "ANTHROPIC_BASE_URL="+url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1", "DISABLE_ERROR_REPORTING=1")
	return cmd
}

// environment returns the variables of an agent: a home of its own, and a key that no real server
// accepts.
func environment(home string) []string {
	return []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8",
		"ANTHROPIC_API_KEY=k"}
}

// compare measures sessions of all agents: with one answer, and what a round with one command adds.
func (b *bench) compare() ([]section, error) {
	all, err := b.agents()
	if err != nil {
		return nil, err
	}
	few, many := 1, 1+b.rounds
	costs, missing := map[string]map[int][]cost{}, []string{}
	for i := range b.runs {
		for _, a := range all {
			if i > 0 && costs[a.name] == nil || a.vendors && i%4 != 0 {
				continue
			}
			one, err := b.sessions(a, 0, few, many)
			if err != nil && a.vendors {
				delete(costs, a.name)
				missing = append(missing, a.name)
				fmt.Fprintf(os.Stderr, "%s is left out: %v\n", a.name, err)
				continue
			}
			if err != nil {
				return nil, err
			}
			if costs[a.name] == nil {
				costs[a.name] = map[int][]cost{}
			}
			for rounds, c := range one {
				costs[a.name][rounds] = append(costs[a.name][rounds], c)
			}
		}
	}
	return tables(all, costs, few, many, missing), nil
}

// tables returns the tables of the costs by the name of the agent and the number of rounds.
func tables(all []agent, costs map[string]map[int][]cost, few, many int, missing []string) []section {
	added := func(name string, of func(cost) float64) figure {
		last, first := figureOf(costs[name][many], of, "ms"), figureOf(costs[name][few], of, "ms")
		n := float64(many - few)
		return figure{(last.median - first.median) / n, (last.least - first.least) / n, "ms"}
	}
	loop, loopRound := figureOf(costs[bareLoop][0], cost.cpu, "ms"), added(bareLoop, cost.cpu)
	var turns, rounds [][]string
	for _, a := range all {
		s := costs[a.name][0]
		if len(s) == 0 {
			continue
		}
		cpu, round := figureOf(s, cost.cpu, "ms"), added(a.name, cost.cpu)
		turns = append(turns, []string{a.name, cpu.String(), number(cpu.least / loop.least),
			figureOf(s, cost.wall, "ms").String(), figureOf(s, cost.memory, "MiB").String()})
		median := added(a.name, cost.wall).median
		rounds = append(rounds, []string{a.name, round.String(), number(round.least / loopRound.least),
			figure{median, median, "ms"}.String()})
	}
	note := ""
	if len(missing) > 0 {
		note = fmt.Sprintf("\nNot in PATH or not working here, so not measured: %s.\n", strings.Join(missing, ", "))
	}
	turnHead := []string{"a text turn", "CPU", "x bare loop", "wall", "peak memory of the largest process"}
	roundHead := []string{"a round with one shell command", "CPU", "x bare loop", "wall (median)"}
	return []section{{"turn", table(turnHead, turns) + note}, {"round", table(roundHead, rounds) + note}}
}
