package load

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/fault"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/rules"
)

// UserRules returns the file of the rules that a person has kept:
// $XDG_STATE_HOME/attractor/rules.json, else ~/.local/state/attractor/rules.json.
func UserRules(getenv func(string) string) (string, error) {
	state, err := userfiles.StateDir(getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(state, "attractor", "rules.json"), nil
}

// projectRules lists the files of a project that may have rules.
func projectRules() []string {
	return append([]string{".attractor/rules.json"}, projectClaudeSettings()...)
}

// ReadRules reads the rules that apply to calls in a directory: those of the named files, of the
// user, and of the project. The user's are in UserRules, and in Claude Code's settings in
// $CLAUDE_CONFIG_DIR or ~/.claude. The rules of a project that is not trusted can only deny and
// ask. Reading needs no permission in the directory, and in those that are readable. The error
// names every mistake in every file.
func ReadRules(local *env.Local, project *Project, files []string, getenv func(string) string,
	readable ...string) (*rules.Set, error) {
	given, own, err := UserSources(files, project, getenv)
	if err != nil {
		return nil, err
	}
	return ParseRules(RuleDirs(local, getenv, readable), slices.Concat(given, own, project.Rules(own)))
}

// UserSources reads the user's rules: those of the given files, and their own.
// With a project, what was kept for it counts.
func UserSources(files []string, project *Project, getenv func(string) string) (given, own []rules.Source, err error) {
	for _, name := range files {
		source, err := ruleFile(name)
		if err != nil {
			return nil, nil, fault.Errorf(fault.ErrConfig, "cannot read the rules: %w", err)
		}
		given = append(given, source)
	}
	own, err = ownRules(getenv, project.KeptAs())
	return given, own, err
}

// ParseRules returns the rules of the sources.
func ParseRules(dirs rules.Dirs, sources []rules.Source) (*rules.Set, error) {
	set, err := rules.Load(dirs, sources...)
	if err != nil {
		return nil, fault.Errorf(fault.ErrConfig, "the rules have mistakes, so nothing is run:\n%w", err)
	}
	return set, nil
}

// RuleDirs returns what the patterns of rules are about on this machine.
func RuleDirs(local *env.Local, getenv func(string) string, readable []string) rules.Dirs {
	// without one, patterns that begin with ~ are mistakes, which are told
	home := filepath.ToSlash(userfiles.HomeDir(getenv))
	return rules.Dirs{Work: local.WorkDir(), Home: home, Roots: slices.Concat([]string{local.WorkDir()},
		env.ConfinementOf(local).Writable, userfiles.Slashed(readable)), Resolve: rules.RealPath, Local: directories{},
		Vars: os.Environ(), Outside: outside}
}

// directories reads the directories of this machine.
type directories struct{}

// ReadDir returns the entries of a directory.
func (directories) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// State returns a value that changes when the directory does, and whether it can be relied on: not
// if the directory has just changed, because another change could get the same time.
func (directories) State(dir string) (any, bool) {
	changed, err := userfiles.ChangeTime(dir)
	const resolution = 20 * time.Millisecond // of the times of files
	return changed, err == nil && time.Since(changed) > resolution
}

// ownRuleFiles lists the user's own files that may have rules.
func ownRuleFiles(getenv func(string) string) []string {
	kept, err := UserRules(getenv)
	if err != nil {
		kept = "" // without a state directory nothing was kept
	}
	return slices.DeleteFunc([]string{kept, userfiles.ClaudeSettings(getenv)},
		func(name string) bool { return name == "" })
}

// ownRules reads the user's own files with rules, as far as they exist. Rules that were kept for
// the project count.
func ownRules(getenv func(string) string, project string) (sources []rules.Source, err error) {
	for _, name := range ownRuleFiles(getenv) {
		source, err := ruleFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Errorf(fault.ErrConfig, "cannot read the rules: %w", err)
		}
		if name == userfiles.ClaudeSettings(getenv) {
			source.Foreign, source.Dir = true, filepath.ToSlash(filepath.Dir(filepath.Dir(name)))
		} else {
			source.Dir, source.Project, source.Projects = "", project, true
		}
		sources = append(sources, source)
	}
	return sources, nil
}

// outside reads a file of this machine that is not in the session's directories.
func outside(_ context.Context, name string) ([]byte, error) {
	source, err := ruleFile(filepath.FromSlash(name))
	return source.Data, err
}

// ruleFile reads a file of the user's. Patterns that begin with / start at its directory.
func ruleFile(name string) (source rules.Source, err error) {
	data, err := userfiles.ReadSettings(name, rules.MaxFile+1)
	if err != nil {
		return source, err
	}
	dir, err := filepath.Abs(filepath.Dir(name))
	return rules.Source{Name: name, Data: data, Dir: filepath.ToSlash(dir)}, err
}

// Rules returns the project's files with rules, with the bytes on which the user decided. Patterns
// that begin with / start at the root of the project. A file that could not be read makes the
// project untrusted, which its user is told. own are the user's files: in a home directory that is
// a project, they are not the project's.
func (p *Project) Rules(own []rules.Source) (sources []rules.Source) {
	if p == nil {
		return nil
	}
	origin := rules.Project
	if p.Trusted {
		origin = rules.TrustedProject
	}
	for _, name := range projectRules() {
		file := filepath.Join(p.Root, filepath.FromSlash(name))
		if slices.ContainsFunc(own, func(s rules.Source) bool { return p.isOwn(s.Name, file) }) {
			continue
		}
		if f := p.File(name); f != nil {
			sources = append(sources, rules.Source{Name: file, Data: f.Data, Origin: origin,
				Dir: filepath.ToSlash(p.Root), Foreign: name != projectRules()[0]})
		}
	}
	return sources
}

// isOwn reports whether one of the user's files is also the project's file of a name, as in a home
// directory that is a project.
func (p *Project) isOwn(own, file string) bool { return p.Here == "" && userfiles.SameFile(own, file) }

// projectClaudeSettings lists the files of a project with settings for Claude Code.
func projectClaudeSettings() []string {
	return []string{".claude/settings.json", ".claude/settings.local.json"}
}
