package shell_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules/shell"
)

// TestL1_Bounded checks that scripts of the largest size take a bounded amount of memory, and with
// it of time, whatever is in them.
func TestL1_Bounded(t *testing.T) {
	for _, piece := range []string{"(", "{ ", "$(", "`", "\"$(", "${x:-", "$((", "if ", "while ", "! ", "time ",
		"case a in a) ", "f() ", "a && ", "a | ", "[[ ( ", "<(", "<<E ", "cat <<E\n",
		"a=(", "${x[", "echo $(cat <<E\n", "sh -c '", "timeout 1 ", "sudo ", "eval ", "\\\n", "a;", "~ ", "{a,", "[",
		"* ", "coproc ", "function f ", "for i in a; do ", "cd a; ",
		"for i in a; do cd b; ", "x=$(", "x=1 ", ">f ", "2>&1 ", "'", "\"", "$'", "# \\\n", "a[", "@(a", "\"${x:-",
		"<<<a ", "until cd a; do ", "if cd a; then ", "a & ", "{ cd a; ",
		"xargs ", "(cd a; ", "find -exec ", "x=$y ", "~/", "a\n", "<(a) ", "\"a\"'b'", "nice -Z ",
		"timeout -Z ", "sudo --zz ", "env --zz ", "xargs --zz ", "stdbuf --zz ", "exec -Z ", "watch ", "npx -c ",
		"env -S ",
		"find -exec a ';' "} {
		for _, script := range []string{strings.Repeat(piece, 65_000/len(piece)), strings.Repeat(piece, 90) + "rm x",
			strings.Repeat(piece, 4_900/len(piece)) + "rm x"} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s := shell.Parse(script, shell.Place{Dir: "/w", Home: "/h"})
			runtime.ReadMemStats(&after)
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
				t.Errorf("%d bytes of %q take %d MiB", len(script), piece, used)
			}
			if after.StackSys > 160<<20 {
				t.Errorf("%d bytes of %q take %d MiB of stack", len(script), piece, after.StackSys>>20)
			}
			if len(s.Commands) > 5_000 {
				t.Errorf("%d bytes of %q are %d commands", len(script), piece, len(s.Commands))
			}
		}
	}
	if s := shell.Parse("ls "+strings.Repeat("x", 64<<10), shell.Place{}); s.Unclear == "" {
		t.Error("a script may have any size")
	}
}
