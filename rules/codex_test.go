package rules_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/tool"
)

var codexRuns = flag.Int("codex.runs", 30, "number of commands about which codex is asked")

// codexRule is a prefix rule of codex.
type codexRule struct {
	prefix   []string
	decision string // allow, prompt or forbidden
}

// verdicts maps the decisions of codex to ours.
var verdicts = map[string]string{"allow": "allow", "prompt": "ask", "forbidden": "deny"}

// codexDecides asks codex about a command. It returns "" if no rule of codex matches.
func codexDecides(t *testing.T, codex string, rules []codexRule, argv []string) string {
	t.Helper()
	var text bytes.Buffer
	for _, r := range rules {
		prefix, err := json.Marshal(r.prefix)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "prefix_rule(pattern = %s, decision = %q)\n", prefix, r.decision)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "x.rules")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), codex,
		append([]string{"execpolicy", "check", "--rules", file, "--"}, argv...)...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "CODEX_HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("codex %q with %s: %v", argv, text.Bytes(), err)
	}
	var answer struct{ Decision string }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	return verdicts[answer.Decision]
}

// weDecide returns our decision by the same rules, or "" if none of them matches.
func weDecide(p *project, rules []codexRule, argv []string) string {
	lists := map[string][]string{"allow": {}, "ask": {}, "deny": {}}
	for _, r := range rules {
		list := verdicts[r.decision]
		lists[list] = append(lists[list], "Bash("+strings.ReplaceAll(quoted(r.prefix), "*", `\*`)+":*)")
	}
	text, err := json.Marshal(lists)
	if err != nil {
		p.t.Fatal(err)
	}
	d := p.command(p.load(string(text)), quoted(argv))
	if d.Verdict == tool.Allow && d.Rule == "" || d.Default && d.Verdict == tool.Ask {
		return ""
	}
	return d.Verdict.String()
}

// strictness orders decisions. No decision leads to a question.
func strictness(decision string) int {
	return slices.Index([]string{"allow", "", "ask", "deny"}, decision)
}

// differences lists why we may decide otherwise than codex. All make our decision the stricter one.
var differences = []struct {
	why  string
	here func(argv []string) bool
}{
	{"a program under a path obeys the rules that deny and ask for its name",
		func(argv []string) bool { return strings.Contains(argv[0], "/") }},
	{"options in front of a subcommand do not hide it from rules that deny and ask",
		func(argv []string) bool { return len(argv) > 1 && strings.HasPrefix(argv[1], "-") }},
	{"a wrapper is judged by the command that it runs", func(argv []string) bool {
		return argv[0] == "env" || argv[0] == "timeout"
	}},
}

// TestL1_CodexDecidesTheSame compares decisions by prefix rules with those of codex, on random
// rules and commands.
func TestL1_CodexDecidesTheSame(t *testing.T) {
	codex := peer.Need(t, "codex")
	p := newProject(t)
	random := seed.New(t)
	pick := func(list ...string) string { return list[random.IntN(len(list))] }
	same, others := 0, map[string]int{}
	for range *codexRuns {
		argv := []string{pick("git", "git", "git", "make", "/usr/bin/git", "env", "timeout")}
		for range random.IntN(4) {
			argv = append(argv, pick("push", "push", "status", "-C", "--force", "--force", "origin", "a b", "x*y", "5",
				"git", "it's", "pushx"))
		}
		var rules []codexRule
		for range 1 + random.IntN(3) {
			r := codexRule{append([]string{}, argv[:1+random.IntN(len(argv))]...), pick("allow", "prompt", "forbidden")}
			if i := random.IntN(4); i == 0 {
				r.prefix[0] = pick("git", "env", "make", "gi")
			} else if i == 1 && len(r.prefix) > 1 {
				r.prefix[len(r.prefix)-1] = pick("push", "a", "--force", "a b c")
			}
			rules = append(rules, r)
		}
		theirs, ours := codexDecides(t, codex, rules, argv), weDecide(p, rules, argv)
		if theirs == ours {
			same++
			continue
		}
		i := slices.IndexFunc(differences, func(d struct {
			why  string
			here func([]string) bool
		}) bool {
			return d.here(argv)
		})
		if i < 0 || strictness(ours) < strictness(theirs) {
			t.Errorf("%q by %q: codex %q, we %q", argv, rules, theirs, ours)
			continue
		}
		others[differences[i].why]++
	}
	t.Logf("%d decisions are the same", same)
	for why, n := range others {
		t.Logf("%d are stricter here: %s", n, why)
	}
	if same < *codexRuns/2 {
		t.Errorf("only %d decisions of %d are the same", same, *codexRuns)
	}
}
