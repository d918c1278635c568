package rules_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules"
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

// counting counts the directories that are listed.
type counting struct {
	env.Environment
	lists int
}

func (c *counting) ReadDir(ctx context.Context, name string) ([]env.Info, error) {
	c.lists++
	return c.Environment.ReadDir(ctx, name)
}

// The rules of a repository that nobody trusts cost no more than their length for each path, and a
// deep directory counts as many.
func TestL1_PatternsAreBounded(t *testing.T) {
	p := newProject(t)
	p.write(strings.Repeat("d/", 900)+"f", "")
	var deny []string
	for i := range 50 {
		deny = append(deny, fmt.Sprintf(`"Read(%sd%d)"`, strings.Repeat("**/", 100), i),
			fmt.Sprintf(`"Read(%s/nope%d)"`, strings.Repeat("**/d**/", 12), i))
	}
	s := p.load(`{"deny": [` + strings.Join(deny, ",") + `]}`)
	for _, call := range []struct{ name, key string }{{"grep", "pattern"}, {"shell", "command"}} {
		e := &counting{Environment: p.env}
		args := map[string]string{call.key: "grep -r x ."}
		if d := s.Decide(t.Context(), e, p.request(p.env, tools(t), call.name, args)); d.Verdict != tool.Allow {
			t.Errorf("%s: %+v", call.name, d)
		}
		if e.lists < 100 || e.lists > 500 {
			t.Errorf("%s: the decision lists %d directories", call.name, e.lists)
		}
	}
	name := p.dir + strings.Repeat("/d", 900)
	req := p.request(p.env, tools(t), "read_file", map[string]string{"file_path": name})
	allocations := func(s *rules.Set) float64 {
		return testing.AllocsPerRun(3, func() { s.Decide(t.Context(), p.env, req) })
	}
	if with, without := allocations(s), allocations(p.load("{}")); with > without+5_000 {
		t.Errorf("a decision about a deep file takes %v allocations, and %v without rules", with, without)
	}
	for pattern, fine := range map[string]bool{strings.Repeat("d/", 63) + "x": true, strings.Repeat("d/", 64) +
		"x": false,
		strings.Repeat("**/", 100) + "x": true, strings.Repeat("**/d/", 40) + "x": false} {
		_, err := rules.Load(p.dirs(), source(`{"deny": ["Read(`+pattern+`)"]}`))
		if fine != (err == nil) || err != nil && !strings.Contains(err.Error(), "it has more than 64 elements") {
			t.Errorf("%.20s: %.300v", pattern, err)
		}
	}
}
