//go:build unix

package rules_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules/shell"
	"github.com/attractor-go/attractor/tool"
)

// BenchmarkL1_Decide decides about a command of 200 characters by 100 rules. The yardstick is one
// regular expression for each rule, matched with the text, without any parsing.
func BenchmarkL1_Decide(b *testing.B) {
	lists := map[string][]string{}
	var expressions []*regexp.Regexp
	for i := range 98 {
		list := []string{"allow", "ask", "deny"}[i%3]
		lists[list] = append(lists[list], fmt.Sprintf("Bash(program%d sub%d:*)", i, i))
		expressions = append(expressions, regexp.MustCompile(fmt.Sprintf(`^program%d sub%d( .*)?$`, i, i)))
	}
	lists["allow"] = append(lists["allow"], "Bash(go test:*)", "Bash(npm run *)")
	text, err := json.Marshal(lists)
	if err != nil {
		b.Fatal(err)
	}
	p := newProject(b)
	s := p.load(string(text))
	script := "go test -count=1 -run 'TestOne|TestTwo' ./internal/one/... ./internal/two/... && npm run build -- " +
		"--mode production --out dist && go test -race ./cmd/server"
	script += " -timeout " + strings.Repeat("1", 200-len(script)-len(" -timeout ")-1) + "m"
	if len(script) != 200 {
		b.Fatal(len(script))
	}
	e := env.Protect(p.env, env.DefaultProtection())
	req := p.request(e, tools(b), "shell", map[string]string{"command": script})
	if d := s.Decide(b.Context(), e, req); d.Verdict != tool.Allow {
		b.Fatal(d)
	}
	b.ReportAllocs()
	yardstick := perRun(b, func() {
		for _, re := range expressions {
			re.MatchString(script)
		}
	})
	parse := perRun(b, func() { shell.Parse(script, shell.Place{Dir: p.dir}) })
	before := used(b)
	for b.Loop() {
		s.Decide(b.Context(), e, req)
	}
	each := float64((used(b) - before).Nanoseconds()) / float64(b.N)
	b.ReportMetric(each/1000, "cpu-µs/decision")
	b.ReportMetric(each/yardstick, "of-100-regexps")
	b.ReportMetric(parse/1000, "cpu-µs/parse")
}

// perRun returns the processor time in nanoseconds that a function takes.
func perRun(b *testing.B, run func()) float64 {
	const runs = 2000
	before := used(b)
	for range runs {
		run()
	}
	return float64((used(b) - before).Nanoseconds()) / runs
}

// used returns the processor time that this process has used.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
