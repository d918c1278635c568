package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/profile/profiles"
)

// lines returns the lines of a text, with one space between words.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return all
}

// The directory of a team that comes from Claude Code works in the command: what is listed is what
// a session has, in all profiles and both dialects. Before the directory is trusted, its
// instructions count and the rest is told.
func TestM6_M10_ATeamsDirectoryInTheCommand(t *testing.T) {
	t.Parallel()
	var turns []fakellm.Turn
	for range 20 {
		turns = append(turns, fakellm.Turn{Text: "done"})
	}
	url, server := serve(t, nil, turns...)
	h := newHome(t, url)
	if err := os.CopyFS(h.dir, os.DirFS("../../testdata/team")); err != nil {
		t.Fatal(err)
	}
	var dialects [][]string
	for _, family := range profiles.Names() {
		dialects = append(dialects, []string{"--profile", family}, []string{"--profile", family, "--native"})
	}
	const untrusted = "because the project is not trusted: skills: release, sql-migrations; "
	for _, d := range dialects {
		prompt, tools := h.run(0, append([]string{"prompt"}, d...)...), h.run(0, append([]string{"tools"}, d...)...)
		has(t, prompt.stdout, "Amounts are whole cents", "Write short sentences")
		has(t, prompt.stderr, untrusted+"agents: migrator, reviewer. To see the files and decide, run: attractor trust")
		if text := prompt.stdout + tools.stdout; strings.Contains(text, "sql-migrations") ||
			strings.Contains(text, "migrator") || strings.Contains(text, "\nskill\n") {
			t.Errorf("%v: skills or agents of an untrusted project: %s", d, text)
		}
	}
	for _, list := range []string{"commands", "agents"} {
		if out := h.run(0, list); out.stdout != "" || strings.Count(out.stderr, "\n") != 1 ||
			!strings.Contains(out.stderr,
				untrusted+"commands: explain, git:commit, review; agents: migrator, reviewer.") {
			t.Errorf("%s: %+v", list, out)
		}
	}
	if out := h.run(exitUsage, "run", "--yes", "/review all bugs"); !strings.Contains(out.stderr,
		"/review is not used, because the project is not trusted") || len(server.Requests()) > 0 {
		t.Errorf("run: %+v", out)
	}
	out := h.run(0, "run", "--yes", "go")
	has(t, out.stderr, "hooks: PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit; rules: Bash(sh "+
		"check.sh). ")
	if n := strings.Count(out.stderr, "attractor trust"); n != 1 || len(server.Requests()) != 1 {
		t.Errorf("%d warnings, %d requests: %s", n, len(server.Requests()), out.stderr)
	}

	has(t, h.onTerminal(0, "yes\n", "trust"), ".claude/skills/release/SKILL.md (skills, ",
		"hook: sh .claude/hooks/stop.sh", "allows: Bash(sh check.sh)")
	for list, want := range map[string][]string{
		"commands": {"/explain - command project Explain @src/price.py to a new member of the team.",
			"/git:commit [issue] [title] command project Creates a commit",
			"/release [version] skill project Makes a release of the shop.",
			"/review [files] [what to look for] command project Reviews files"},
		"agents": {"migrator project inherit Bash, Read, Edit, Write Moves code",
			"reviewer project haiku Read, Grep, Glob Reviews a change"},
		"hooks": {"SessionStart * project ready ", "UserPromptSubmit * project ready ",
			"PreToolUse Bash project ready ", "PreToolUse Edit|MultiEdit|Write project ready ",
			"PostToolUse Edit|MultiEdit|Write project ready ", "Stop * project ready "},
		"prompt --sources": {"159 bytes " + h.dir + "/AGENTS.md: in the prompt",
			"44 bytes " + h.dir + "/docs/style.md: in the prompt; imported by",
			"11 bytes " + h.dir + "/CLAUDE.md: in the prompt", ""},
	} {
		got := h.run(0, strings.Fields(list)...)
		rows := lines(got.stdout)
		if len(rows) != len(want) || got.stderr != "" {
			t.Errorf("%s: %q, %s", list, rows, got.stderr)
			continue
		}
		for i := range want {
			if !strings.HasPrefix(rows[i], want[i]) {
				t.Errorf("%s: %q, want %q", list, rows[i], want[i])
			}
		}
	}
	for _, d := range dialects {
		prompt, tools := h.run(0, append([]string{"prompt"}, d...)...), h.run(0, append([]string{"tools"}, d...)...)
		has(t, prompt.stdout, "Amounts are whole cents", "  - `release`: Makes a release of the shop.",
			"  - `sql-migrations`: Writes migrations")
		has(t, tools.stdout, "\nskill\n    Loads a skill", "- migrator: Moves code", "- reviewer: Reviews a change")
		if prompt.stderr+tools.stderr != "" {
			t.Errorf("%v: %s%s", d, prompt.stderr, tools.stderr)
		}
		sent := len(server.Requests())
		cmd := attractorCommand(t, append([]string{"run", "--yes", "--provider", d[1], "/git:commit 12 'Faster start'"},
			d...)...)
		cmd.Dir, cmd.Env = h.dir, append(cmd.Env, "HOME="+h.home, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+url,
			"OPENAI_API_KEY=k", "OPENAI_BASE_URL="+url+"/v1", "GEMINI_API_KEY=k", "GEMINI_BASE_URL="+url)
		out := runCommand(t, cmd)
		requests := server.Requests()[sent:]
		if len(requests) != 2 || out.stdout != "done\n" {
			t.Fatalf("%v: %d requests, %+v", d, len(requests), out)
		}
		has(t, requests[0].Messages[0].Parts.Text(),
			"/git:commit 12 'Faster start'\n\nCreate a commit with the title \"Faster start\". It closes the "+
				"issue #12.")
		has(t, string(requests[0].Body), "The branch is frozen until Monday.", "Nobody is on call.")
		has(t, string(requests[1].Body), "Run sh check.sh before you stop.")
		if told := strings.Count(out.stderr, "! "); (told > 0) != (d[1] != "anthropic") {
			t.Errorf("%v: %s", d, out.stderr)
		}
	}
}
