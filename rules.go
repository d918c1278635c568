package attractor

import (
	"path/filepath"
	"slices"

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

// programsOf returns the directories in which programs are those of a repository, given its top and
// the home directory. One around that, or around the system's programs, has others.
func programsOf(top, home string) []string {
	if top == home || isBelow([]string{top}, home) || isBelow([]string{top}, "/usr/bin") {
		return nil
	}
	return []string{top}
}

// ruleDirs returns what the patterns of the session's rules are about.
func (s *Setup) ruleDirs(c *config) rules.Dirs {
	if s.far != nil {
		return s.far.ruleDirs(s.mayRead())
	}
	dirs := load.RuleDirs(s.Local, c.getenv, s.mayRead())
	dirs.Copies = s.copies
	dirs.Repository = programsOf(filepath.ToSlash(realPath(s.Project.Root)), filepath.ToSlash(realPath(dirs.Home)))
	if !s.boxed() { // then the sandbox confines them, which does not keep them from changing things
		dirs.Observed = func() bool { return s.observing.sandbox() != nil }
	}
	return dirs
}
