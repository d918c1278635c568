package regex_test

import (
	"errors"
	"io/fs"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/regex"
)

// TestK13_Pattern has patterns refused that would take too much memory, and others taken.
func TestK13_Pattern(t *testing.T) {
	names := strings.TrimSuffix(strings.Repeat("someNameOfTwentyRune|", 1000), "|")
	for _, pattern := range []string{"", "a+", `\pL{3,20}`, ".{1000}", `(\w{1,50}[,;]){15}`, names, "(?i)" + names} {
		re, err := regex.Compile(pattern)
		if err != nil || re.String() != pattern {
			t.Errorf("%.30q: %v", pattern, err)
		}
		parsed, err := regex.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil || len(program.Inst) > 27_000 {
			t.Errorf("%.30q has %d instructions; %v", pattern, len(program.Inst), err)
		}
	}
	for _, pattern := range []string{strings.Repeat(".{1000}", 3300), strings.Repeat(".{1000}", 40),
		"((.{10}){9}|a{30}){10}" +
			strings.Repeat(".{1000}", 27), strings.Repeat(`\pL`, 1000), strings.Repeat("a", 40_000),
		strings.Repeat("(a{0,1000}|b)", 40)} {
		if re, err := regex.Compile(pattern); !errors.Is(err, regex.ErrTooLarge) || !errors.Is(err, fs.ErrInvalid) ||
			re != nil {
			t.Errorf("%.30q: %v", pattern, err)
		}
	}
	if _, err := regex.Compile("("); err == nil || errors.Is(err, regex.ErrTooLarge) {
		t.Error(err)
	}
}
