package attractor

import (
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/internal/git"
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

// repositoriesOf returns the tops of the repositories around directories, without links. One that the
// home directory or the system's programs are in has others' programs as well, and does not count.
func repositoriesOf(home string, dirs ...string) (tops []string) {
	home = filepath.ToSlash(realPath(home))
	for _, dir := range dirs {
		for _, top := range git.Tops(realPath(dir)) {
			if top = filepath.ToSlash(top); top != home && !isBelow([]string{top}, home) && !isBelow([]string{top}, "/usr/bin") {
				tops = append(tops, top)
			}
		}
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
	dirs.Repository = repositoriesOf(dirs.Home, s.Local.WorkDir(), s.Project.Root)
	if !s.boxed() { // then the sandbox confines them, which does not keep them from changing things
		dirs.Observed = func() bool { return s.observing.sandbox() != nil }
	}
	return dirs
}
