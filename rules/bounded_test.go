package rules_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// A script of which not all was looked at may run what a rule denies, and no script takes much
// memory to judge.
func TestU8_BehindTheLimits(t *testing.T) {
	p := newProject(t)
	denies, allows := p.load(`{"allow": ["Bash"], "deny": ["Bash(rm:*)"]}`), p.load(`{"allow": ["Bash"]}`)
	for name, script := range map[string]string{
		"wrappers":                strings.Repeat("timeout 1 ", 12) + "rm x",
		"wrappers that branch":    strings.Repeat("nice -Z ", 500) + "rm x",
		"long wrappers":           strings.Repeat("sudo --zz ", 6_000) + "rm x",
		"scripts that branch":     strings.Repeat("watch ", 9_000) + "rm x",
		"scripts beside":          strings.Repeat("npx -c ", 9_000) + "'rm x'",
		"commands":                strings.Repeat("ls;", 2_000) + "rm x",
		"subshells":               strings.Repeat("( ", 200) + "rm x" + strings.Repeat(")", 200),
		"commands of one program": "find -exec ls " + strings.Repeat("';' -exec ls ", 2_000) + "';' -exec rm x ';'",
		"forms of a command":      "rm" + strings.Repeat(" -x", 20_000),
		"forms of an option":      "x" + strings.Repeat(" -x", 20_000) + " rm",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := p.command(denies, script)
		runtime.ReadMemStats(&after)
		if d.Verdict != tool.Deny && !d.Denied {
			t.Errorf("%s: %+v", name, d)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
			t.Errorf("%s: the decision takes %d MiB", name, used)
		}
		if d := p.command(allows, script); d.Verdict != tool.Allow {
			t.Errorf("%s without a rule that denies commands: %+v", name, d)
		}
	}
}

// A name in a command that is longer than the system takes is not looked up, and asks.
func TestU20_LongNamesInCommands(t *testing.T) {
	p := newProject(t)
	s := p.load(`{"allow": ["Bash(cat:*)", "Bash(cp:*)"], "deny": ["Edit(**/d/**)", "Read(x/**/*.k)"]}`)
	long := strings.Repeat("a/", 30_000)
	for _, script := range []string{"cat " + long, "find " + long, "cp x " + long, "echo x >" + long, "ls -R " + long,
		"git " + strings.Repeat("-C a ", 12_000) + "status", strings.Repeat("cd aaaaaaaaaaaaaaaa;", 900) + "cat x",
		"cd " + long[:30_000] + ";cp " + strings.Repeat("x ", 15_000), long + "x"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d := p.command(s, script)
		runtime.ReadMemStats(&after)
		if d.Verdict != tool.Ask {
			t.Errorf("%.20s: %v %.100s", script, d.Verdict, d.Reason)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 128 {
			t.Errorf("%.20s: the decision takes %d MiB", script, used)
		}
	}
}
