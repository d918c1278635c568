package cli

import (
	"regexp"
	"strings"
	"testing"
)

// TestQ4_FlagsOfOtherPrograms checks that flags of claude -p and codex exec are answered with flags
// that exist here.
func TestQ4_FlagsOfOtherPrograms(t *testing.T) {
	run := newRun(terminal{})
	for other, here := range otherFlags() {
		given := "--" + other
		if len(other) == 1 {
			given = "-" + other
		}
		for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(here, -1) {
			if run.Flags().Lookup(flag[1]) == nil {
				t.Errorf("%s leads to %s, which does not exist", given, flag[0])
			}
		}
		var stderr strings.Builder
		code := execute([]string{"run", given, "x"}, terminal{in: strings.NewReader(""), out: &stderr, err: &stderr})
		want := "; here it is " + here + " (docs/coming-from)"
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", given, code, stderr.String())
		}
	}
	for given, want := range map[string]string{
		"-p":              "; here it is attractor run, without a flag (docs/coming-from)",
		"--output-format": "; here it is attractor run --json (docs/coming-from)",
		"--settings":      "; here it is --rules (docs/coming-from)",
	} {
		var stderr strings.Builder
		execute([]string{"chat", given}, terminal{in: strings.NewReader(""), out: &stderr, err: &stderr})
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("chat %s: %q", given, stderr.String())
		}
	}
	var stderr strings.Builder
	if execute([]string{"models", "--oss"}, terminal{in: strings.NewReader(""), out: &stderr,
		err: &stderr}); strings.Contains(stderr.String(), "here") {
		t.Errorf("a command without sessions says %q", stderr.String())
	}
}
