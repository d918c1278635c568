package rules_test

import (
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// A command in a string of another command is found wherever it stands. One that is not literal may
// be what a rule denies.
func TestU8_CommandsInStrings(t *testing.T) {
	dir := t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	load := func(text string) *rules.Set {
		t.Helper()
		set, err := rules.Load(rules.Dirs{Work: dir, Home: t.TempDir()},
			rules.Source{Name: "rules", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	denies := load(`{"permissions": {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}}`)
	allows := load(`{"permissions": {"allow": ["Bash(git:*)", "Bash(flock:*)", "Bash(npx:*)", "Bash(npm:*)", "Bash(make)"]}}`)
	decide := func(set *rules.Set, script string) rules.Decision {
		return set.Decide(t.Context(), local, tool.Request{Dir: dir, Access: tool.Access{Effect: tool.Writes,
			Command: script}, Call: llm.ToolCall{Name: "shell"}})
	}
	for _, script := range []string{
		"env -S 'rm -r x'", "env --split-string='rm -r x'", "env -iS 'rm x'", "flock f -c 'rm x'",
		"flock --command='rm x' f", "npx -c 'rm x'", "npx --call 'rm x'", "npm exec -c 'rm x'",
		"git rebase --exec 'rm x' main", "git rebase -x 'rm x'", "git rebase --exec='make && rm x' main",
		"git bisect run rm x", "git -c alias.x='!rm x' x", "git -C sub -c Alias.y='!rm x' y",
		"git submodule foreach 'rm x'", "git submodule foreach --recursive rm x",
		"git filter-branch --tree-filter 'rm x' HEAD", "watch 'rm x'", "su -c 'rm x'", "script -c 'rm x' out",
		"flock f -c \"sh -c 'rm x'\"", "sh -c \"git rebase -x 'rm x'\"",
	} {
		if d := decide(denies, script); d.Verdict != tool.Deny {
			t.Errorf("%s: %+v", script, d)
		}
	}
	for _, script := range []string{`sh -c "$X"`, `flock f -c "$X"`, `git rebase -x "$X"`, `git -c "alias.x=!$X" x`,
		`npx -c "make; $X"`, `eval "$X"`, `git submodule foreach "$X"`} {
		if d := decide(denies, script); d.Verdict != tool.Ask || !d.Denied {
			t.Errorf("%s: %+v", script, d)
		}
		if d := decide(load(`{"permissions": {"allow": ["Bash"]}}`), script); d.Verdict != tool.Allow {
			t.Errorf("%s without a rule that denies commands: %+v", script, d)
		}
	}
	for script, allowed := range map[string]bool{
		"git rebase main": true, "git rebase -x make main": true, "git rebase -x 'make; curl x' main": false,
		"git bisect run make": true, "git bisect run ./x": false,
		"git -c user.name=x commit": true, "git -c alias.x='!curl x' x": false, "npm exec -c make": true,
		"npx -c 'curl x'": false, "npm ci": true, "git submodule foreach make": true,
	} {
		if d := decide(allows, script); (d.Verdict == tool.Allow) != allowed {
			t.Errorf("%s: %+v", script, d)
		}
	}
}
