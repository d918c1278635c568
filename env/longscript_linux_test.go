package env_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// A script may be longer than the system lets an argument be, and runs as a short one does.
func TestU9_LongScripts(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{})
	for _, size := range []int{130_000, 131_071, 131_072, 200_000, 1_000_000} {
		var script strings.Builder
		script.WriteString("set -u; arguments=$#; name=$0; text='")
		script.WriteString(strings.Repeat("é$1", (size-script.Len()-80)/4))
		script.WriteString("'\ncat <<'END'\n$text\nEND\necho $arguments $name ${#text} $LINENO\n(exit 3)")
		out, result, err := env.Output(t.Context(), l,
			env.Command{Script: script.String(), Env: []string{"LC_ALL=C.UTF-8"}}, 0)
		short, _, shortErr := env.Output(t.Context(), l, env.Command{Script: "echo $0"}, 0)
		want := fmt.Sprintf("$text\n0 %s %d 5\n", strings.TrimSpace(short), strings.Count(script.String(), "é$1")*3)
		if err != nil || shortErr != nil || out != want || result.Code != 3 {
			t.Errorf("%d bytes: %q, want %q; exit code %d, %v", script.Len(), out, want, result.Code, err)
		}
	}
}
