package env_test

import (
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
)

// A command has no terminal, even if its host has one.
func TestU7_NoTerminal(t *testing.T) {
	atLevels(t, func(t *testing.T, level string) {
		l := newLocal(t, t.TempDir(), env.LocalOptions{Containment: level})
		out, result := run(
			t,
			l,
			env.Command{Script: `exec 2>&1; echo x >/dev/tty; [ "$(ps -o sid= -p $$)" -eq $$ ] && echo "a session"`},
		)
		if result.TimedOut || !strings.Contains(out, "No such device or address") ||
			!strings.Contains(out, "a session") {
			t.Errorf("%q", out)
		}
	})
}

// Programs that would ask somebody fail at once and say what to do.
func TestU7_NobodyIsAsked(t *testing.T) {
	git := peer.Need(t, "git") + " -c user.name=n -c user.email=e "
	l := newLocal(
		t,
		t.TempDir(),
		env.LocalOptions{
			Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_EDITOR=cat", "PAGER=less"},
		},
	)
	const advice = "use -m, --no-edit or GIT_EDITOR=true"
	for _, c := range [][2]string{
		{git + "init -q . && " + git + "commit --allow-empty", advice},
		{git + "commit -q --allow-empty -m x && " + git + "rebase -i --root", advice},
		{"GIT_EDITOR=true " + git + "commit -q --allow-empty --amend && echo done", "done"},
		{`printf 'protocol=https\nhost=x.test\n\n' | ` + git + `credential fill`, "terminal prompts disabled"},
		{`echo "$PAGER $SSH_ASKPASS $GIT_TERMINAL_PROMPT[$GIT_SSH_COMMAND$CI]"`, "less false 0[]"},
	} {
		if out, result := run(t, l, env.Command{Script: "exec 2>&1; " + c[0]}); result.TimedOut ||
			!strings.Contains(out, c[1]) {
			t.Errorf("%s: %q, want %q", c[0], out, c[1])
		}
	}
}
