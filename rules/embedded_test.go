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
	decide := scripts(t)
	denies := `{"permissions": {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}}`
	allows := `{"permissions": {"allow": ["Bash(git:*)", "Bash(flock:*)", "Bash(npx:*)", "Bash(npm:*)", "Bash(make)"]}}`
	for _, script := range []string{
		"env -S 'rm -r x'", "env --split-string='rm -r x'", "env -iS 'rm x'", "flock f -c 'rm x'",
		"flock --command='rm x' f", "npx -c 'rm x'", "npx --call 'rm x'", "npm exec -c 'rm x'",
		"git rebase --exec 'rm x' main", "git rebase -x 'rm x'", "git rebase --exec='make && rm x' main",
		"git bisect run rm x", "git -c alias.x='!rm x' x", "git -C sub -c Alias.y='!rm x' y",
		"git submodule foreach 'rm x'", "git submodule foreach --recursive rm x",
		"git filter-branch --tree-filter 'rm x' HEAD", "watch 'rm x'", `watch rm "$X"`, `eval "rm x" $X`,
		"eval -- rm x", "eval '-x; rm x'", "eval -x '; rm x'", "su -c 'rm x'",
		"script -c 'rm x' out",
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
		if d := decide(`{"permissions": {"allow": ["Bash"]}}`, script); d.Verdict != tool.Allow {
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

// scripts returns a function that decides about a script by rules.
func scripts(t *testing.T) func(text, script string) rules.Decision {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(text, script string) rules.Decision {
		t.Helper()
		set, err := rules.Load(rules.Dirs{Work: dir, Home: home}, rules.Source{Name: "rules", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		return set.Decide(t.Context(), local, tool.Request{Dir: dir,
			Access: tool.Access{Effect: tool.Writes, Command: script}, Call: llm.ToolCall{Name: "shell"}})
	}
}

// A program whose name is not literal may be one that a rule denies, and so may what a shell reads
// from its input, what another program reads as the name of a command, and what stands in a script
// that cannot be parsed. Where the name is known, it decides.
func TestU8_ProgramsThatAreNotLiteral(t *testing.T) {
	decide := scripts(t)
	allows := `{"permissions": {"allow": ["Bash"]}}`
	denies := `{"permissions": {"allow": ["Bash"], "deny": ["Bash(rm:*)"]}}`
	for _, script := range []string{
		"x=rm; $x file", `"$x" file`, "$(echo rm) x", "`echo rm` x", "/bin/r? x", "{rm,x}", "$'rm' x", "$? x", "$1 x",
		`"${a[@]}"`, `f() { "$@"; }; f rm x`, "for x in rm; do $x y; done", "[[ -n $x ]] && $x y", "! $x y",
		"time $x y", "x=$($y z)", "cat <($x y)", "bash -c '$0 x' rm", `eval '$x y'`,
		"env $x y", "env A=1 B=$x y", `nice "$x" y`, "timeout 5 $x y", "timeout $x y", "command $x y",
		"command -p $x y", "exec $x y", "sudo $x y", "nohup $x y", "busybox $x y", `hash -p "$x" ls; ls y`,
		`alias l="$x"; l y`, `trap "$x" EXIT`,
		"find /bin -name rm -exec {} x ';'", "find . -exec sh -c {} ';'", "echo rm | xargs -I{} {} x",
		"echo rm | xargs -0I % % x",
		"echo rm x | xargs env", "echo 'rm x' | xargs -n1 sh -c", "xargs -i sh -c {}", "xargs --replace=@ nice @ x",
		"fd rm /bin -x {} x", "fd rm /bin -x env", "echo rm x | parallel", "parallel {} x ::: rm", `parallel ::: "$x"`,
		"bash <<< 'rm x'", "bash <<E\nrm x\nE", "echo rm x | sh", "echo rm x | sh -s y", "echo rm x | bash -O extglob",
		"echo rm x | bash -", "bash <(echo rm x)", ". <(echo rm x)", "source /dev/stdin", "bash /dev/stdin",
		`bash "$@"`, "x=-c; bash $x 'rm y'", "x=-c; bash \"$x\" 'rm y'",
		`bash --posix -c "$x"`, "x='A rm y'; env -u$x z",
		"find . -exec fd y + -x rm {} ';'", "find . -exec env -u + rm {} ';'",
		"rm x\n)", "sh -c 'rm x\n)'", "eval 'rm x\n)'",
	} {
		if d := decide(denies, script); d.Verdict != tool.Ask || !d.Denied {
			t.Errorf("%s: %+v", script, d)
		}
		d := decide(allows, script)
		if d.Verdict != tool.Allow {
			t.Errorf("%s without a rule that denies commands: %+v", script, d)
		}
	}
	for _, script := range []string{"alias l='rm -r'; l x", "trap -- 'rm x' EXIT", "hash -p /bin/rm ls; ls x",
		"parallel 'rm {}' ::: x", "parallel ::: 'ls' 'rm x'", "parallel -j 4 rm ::: x", "sudo A=1 rm x",
		`env A="$x" rm y`, `timeout "$x" 5 rm y`, `nice -n "$x" rm y`, "xargs -n1 nice rm", `"r"m x`, `r\m x`,
		"~/bin/rm x", "fd -x find y + -exec rm x {} +", "fd -x echo + -x ';' -X rm", "fd -x env -u + rm",
		"find . -exec rm {} + -exec echo + ';'"} {
		if d := decide(denies, script); d.Verdict != tool.Deny {
			t.Errorf("%s: %+v", script, d)
		}
	}
	for _, script := range []string{`env A="$x" make`, `sudo A="$x" make`, `timeout "$x" make`, `nice -n "$x" make`,
		`nice -n"$x" make`,
		`A="$x" make`, "command -v $x", "xargs grep y", "xargs -I{} cp {} d", "find . -exec grep y {} +",
		"fd -x gofmt -l", "find . -exec sh -c 'gofmt -l \"$1\"' _ {} ';'", "parallel -j 4 gzip {} ::: y", `bash "$x"`,
		"bash x.sh $y", "bash -x x.sh", "bash -euo pipefail x.sh", "bash -O extglob x.sh", "bash --version", "env -i",
		"alias ll", "trap - EXIT",
		"hash -r", ". ./x.sh", `'' x`, "git $x"} {
		if d := decide(denies, script); d.Denied || d.Verdict == tool.Deny {
			t.Errorf("%s: %+v", script, d)
		}
	}
}
