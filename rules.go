package attractor

import (
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/rules"
)

// openRules reads the rules of the session: those of load.ReadRules, and those of the user's that
// are in no file.
func (s *Setup) openRules(c *config) error {
	s.denied = c.deniedTools()
	given, own, err := load.UserSources(c.RuleFiles, s.Project, c.usersEnv)
	if err != nil {
		return err
	}
	project := s.Project.Rules(own)
	if s.worktree != nil { // the Project of an agent is that of the session
		for i := range project {
			project[i].Dir = filepath.ToSlash(s.worktree.Top)
		}
	}
	if s.far != nil {
		s.far.place(given, own)
	}
	s.Rules, err = load.ParseRules(s.ruleDirs(c), slices.Concat(c.toolRules(), given, own, project))
	return err
}

// repositories returns the work trees of the repositories around the directories of the session,
// given the home directory: what PATH finds there is no program of the system or of the user's.
func (s *Setup) repositories(home string) (tops []string) {
	for _, dir := range append(slices.Clone(s.dirs.list), s.here, s.Project.Root) {
		tops = append(tops, userfiles.Slashed(git.WorkTrees(dir, home))...)
	}
	return tops
}

// ruleDirs returns what the patterns of the session's rules are about.
func (s *Setup) ruleDirs(c *config) rules.Dirs {
	if s.far != nil {
		return s.far.ruleDirs(s.mayRead())
	}
	dirs := load.RuleDirs(s.Local, c.getenv, s.mayRead())
	dirs.Copies = s.copies
	dirs.Repository = s.repositories(dirs.Home)
	if !s.boxed() { // then the sandbox confines them, which does not keep them from changing things
		dirs.Observed = func() bool { return s.observing.sandbox() != nil }
	}
	return dirs
}
