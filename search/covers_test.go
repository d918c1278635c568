package search

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/seed"
)

// TestL1_CoversIsOnePass compares Covers with a look at each directory of a path.
func TestL1_CoversIsOnePass(t *testing.T) {
	rnd := seed.New(t)
	words := func(n int, from ...string) string {
		var list []string
		for range 1 + rnd.IntN(n) {
			list = append(list, from[rnd.IntN(len(from))])
		}
		return strings.Join(list, "/")
	}
	covered := 0
	for range 20_000 {
		slash := func() string { return []string{"", "/"}[rnd.IntN(2)] }
		text := slash() + words(5, "**", "a", "b", "a*", "?", "**", "[ab]c") + slash()
		p, ok := NewPattern(text)
		rules, _ := NewRules("", text)
		if !ok {
			t.Fatal(text)
		}
		name, want, file := words(6, "a", "b", "ab", "bc", "ac"), false, false
		for i := 0; i <= len(name); i++ {
			if i == len(name) || name[i] == '/' {
				at := strings.LastIndexByte(name[:i], '/') + 1
				file = want || rules.Exclude("/"+name[:at], name[at:i], false)
				want = want || rules.Exclude("/"+name[:at], name[at:i], true)
			}
		}
		if got := p.CoversFile(name); got != file {
			t.Fatalf("%s, the file %s: %v, want %v", text, name, got, file)
		}
		if got := p.Covers(name); got != want {
			t.Fatalf("%s, %s: %v, want %v", text, name, got, want)
		}
		if want {
			covered++
		}
	}
	if covered < 1_000 || covered > 19_000 {
		t.Errorf("%d of 20,000 are covered: nothing is compared", covered)
	}
	p, _ := NewPattern(strings.Repeat("**/d**/", 12) + "nope")
	if n := testing.AllocsPerRun(1, func() { p.Covers(strings.Repeat("d/", 900) + "f") }); n > 10 {
		t.Errorf("a path of 900 elements takes %v allocations", n)
	}
}
