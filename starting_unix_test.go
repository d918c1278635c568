//go:build unix

package attractor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/git"
)

// The hooks of many nested repositories are all known, but of few it is looked up what they run:
// the first change of a session waits for that. Directories in others are not walked once more.
func TestK13_HooksOfManyNestedRepositories(t *testing.T) {
	b, dir := newTeam(t, nil), realTemp(t)
	const repositories, hooks = 60, 10
	for r := range repositories {
		top := fmt.Sprintf("r%02d", r)
		put(t, dir, top+"/.git/HEAD", "ref: refs/heads/main\n")
		put(t, dir, top+"/.git/config", "[core]\n\thooksPath = hooks\n")
		for h := range hooks {
			put(t, dir, fmt.Sprintf("%s/hooks/h%d", top, h), fmt.Sprintf("#!/bin/sh\n./run%d.sh\n", h))
			put(t, dir, fmt.Sprintf("%s/run%d.sh", top, h), "true\n")
		}
	}
	put(t, dir, ".git/HEAD", "ref: refs/heads/main\n")
	put(t, dir, ".git/config", "[core]\n\thooksPath = hooks\n")
	put(t, dir, "hooks/h", "#!/bin/sh\n./run.sh\n")
	put(t, dir, "run.sh", "true\n")
	put(t, dir, "r00/below/.git/HEAD", "ref: refs/heads/main\n")
	b.config.Dir, b.config.Sandbox = dir, sandbox.Options{}
	b.open(func(s *Setup, _ *agent.Session) {
		trees := workTrees([]string{dir, filepath.Join(dir, "r00")}, new(git.Nesting))
		if len(trees) != 1+repositories+1 { // the directory, r00 among the others, and what is below it
			t.Errorf("%d work trees are looked at", len(trees))
		}
		names, _ := s.starting(t.Context(), &b.config)
		scripts := 0
		for _, name := range names {
			if strings.HasPrefix(filepath.Base(name), "run") && filepath.Base(filepath.Dir(name)) != "hooks" {
				scripts++
			}
		}
		// settings of the machine may be among the commands
		if scripts > maxAllGitCommands || scripts < maxAllGitCommands/2 ||
			!slices.Contains(names, filepath.Join(dir, "run.sh")) {
			t.Errorf("%d scripts of hooks are known", scripts)
		}
		for r := range repositories {
			if name := filepath.Join(dir, fmt.Sprintf("r%02d/hooks", r)); !slices.Contains(names, name) {
				t.Errorf("%s is not known", name)
			}
		}
	})
}
