//go:build unix

package attractor

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/git"
)

// The hooks of many nested repositories are all known, but few are looked at: the first change of a
// session waits for that. Directories in others are not walked once more.
func TestK13_HooksOfManyNestedRepositories(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	const repositories, hooks = 60, 10
	for r := range repositories {
		top := fmt.Sprintf("r%02d", r)
		put(t, dir, top+"/.git/HEAD", "ref: refs/heads/main\n")
		put(t, dir, top+"/.git/config", "[core]\n\thooksPath = hooks\n")
		for h := range hooks {
			name := fmt.Sprintf("%s/hooks/h%d", top, h)
			putHook(t, dir, name, "#!/bin/sh\ntrue\n")
		}
	}
	put(t, dir, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, dir, "r00/below/.git/HEAD", "ref: refs/heads/main\n")
	const last = "r59"
	put(t, dir, last+"/.git/config", "[core]\n\thooksPath = hooks\n\thooksPath = more\n")
	lead(t, map[string]string{filepath.Join(dir, last, "more/pre-commit"): "../../shared"})
	b.config.Dir, b.config.Sandbox = dir, sandbox.Options{}
	b.open(func(s *Setup, _ *agent.Session) {
		trees := workTrees([]string{dir, filepath.Join(dir, "r00")}, new(git.Nesting))
		if len(trees) != 1+repositories+1 { // the directory, r00 among the others, and what is below it
			t.Errorf("%d work trees are looked at", len(trees))
		}
		names, exposed := s.starting(t.Context(), &b.config)
		if exposed != "the hook of git "+filepath.Join(dir, "r00/hooks/h0")+" may run it" {
			t.Errorf("exposed: %q", exposed)
		}
		if name := filepath.Join(dir, "shared"); !slices.Contains(names, name) {
			t.Errorf("%s, to which a hook leads, is not known", name)
		}
		for r := range repositories {
			if name := filepath.Join(dir, fmt.Sprintf("r%02d/hooks", r)); !slices.Contains(names, name) {
				t.Errorf("%s is not known", name)
			}
		}
	})
}
