package rules

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// Origin says whose a file of rules is. It decides about the power of the rules that allow.
type Origin uint8

// The origins.
const (
	User Origin = iota // the user's own: all rules count
	// a project's that nobody trusts yet: its deny and ask rules count, and the others are ignored
	Project
	TrustedProject // a project's that the user trusts: all rules count
)

// Source holds the content of a file of rules.
type Source struct {
	Name   string // of the file, or of a flag such as --allow-tool, for messages
	Data   []byte
	Origin Origin
	// Dir is the directory where patterns that begin with / start. Empty means the working
	// directory.
	Dir string
	// Project is the path of a project, slashed, whose rules in the file count too: those of
	// "projects": {PATH: {"permissions": ...}}. Patterns in these that begin with / start there.
	// Empty means that the file has no rules for single projects that could count.
	Project string
	// Projects says that the file may have rules for single projects, also for none that counts.
	// Elsewhere they are a mistake.
	Projects bool
	// Foreign says that the file is another program's settings. It may lack permissions, and a rule
	// that allows something this package does not know becomes a warning instead of an error.
	Foreign bool
	// Lineless says that the rules stand in no file, so that messages name no line.
	Lineless bool
}

// Dirs holds the directories that rules refer to. All are absolute.
type Dirs struct {
	Work string // patterns without a slash in front start here
	Home string // ~; empty if there is none
	// Roots are the directories in which reading needs no permission. Nil means Work.
	Roots []string
	// Repository are further directories in which what PATH finds is not taken for a program of the
	// system: those of the repository that Work is in.
	Repository []string
	// Resolve returns a path without symbolic links. It is asked about paths that the environment
	// does not resolve, such as those outside the roots. If it is nil, no rule allows such a path.
	Resolve func(path string) (string, error)
	// Local lists directories, if the session works on this machine. Then Covered finds files by
	// patterns. Nil means that it works elsewhere.
	Local Directories
	// Vars holds the environment of commands, as NAME=value. A variable that makes git run a
	// program makes git commands ask, for example. Nil means that it is harmless.
	Vars []string
	// Outside returns the content of a file that the environment does not open: git's configuration
	// of the user and of the system. If it is nil, git commands ask, because that could name
	// programs. Its errors wrap fs.ErrNotExist if there is no such file.
	Outside func(ctx context.Context, name string) ([]byte, error)
	// Observed reports whether commands that only read run where they can change nothing. Then one
	// runs without a question also if only the machine makes it unclear what it would run: the
	// configuration of git, a program in PATH, the version of Go that a module wants, the order of
	// matches of a pattern. Nil means no.
	Observed func() bool
	// Copies are work trees that were made from others. A rule that denies or asks about a file of
	// the other, and a link to it with the name of a secret, count for its copy as well.
	Copies []Copy
}

// Copy is a directory, At, with what another one has, Of. Both are absolute and without links.
type Copy struct{ Of, At string }

// originals returns the names of the files of which a file is a copy.
func (d *Dirs) originals(name string) (names []string) {
	for _, c := range d.Copies {
		if inside(c.At, name) {
			names = append(names, c.Of+name[len(c.At):])
		}
	}
	return names
}

// copied returns the names of the copies of a file.
func (d *Dirs) copied(name string) (names []string) {
	for _, c := range d.Copies {
		if inside(c.Of, name) {
			names = append(names, c.At+name[len(c.Of):])
		}
	}
	return names
}

// Directories are those of this machine.
type Directories interface {
	ReadDir(dir string) ([]fs.DirEntry, error)
	// State returns a value that changes when entries of a directory are made, removed or renamed.
	// It reports false if that is not known.
	State(dir string) (state any, known bool)
}

// MaxFile is the most bytes that a file of rules may have.
const MaxFile = 1 << 20

// maxRules is the most rules that a Set holds.
const maxRules = 10_000

// Set holds rules. It is safe for concurrent use.
type Set struct {
	dirs     Dirs
	roots    []string // with and without symbolic links
	warnings []string

	mu    sync.RWMutex
	rules [3][]*rule // by verdict; only those that allow change

	restricting []*rule // the rules that deny, and then those that ask

	seen, seenLinks seen     // by Covered and by linkedSecrets
	homeSecrets     []string // where links in the home directory lead that have the names of secrets
}

// Load reads rules. Its error joins the errors of all sources, each with the file, the line and
// what is wrong.
func Load(dirs Dirs, sources ...Source) (*Set, error) {
	s := &Set{dirs: dirs}
	if s.dirs.Roots == nil {
		s.dirs.Roots = []string{dirs.Work}
	}
	s.addRoots(s.dirs.Roots)
	var errs []error
	for _, source := range sources {
		list, more, problems := readSource(source, &s.dirs)
		errs = append(errs, problems...)
		s.warnings = append(s.warnings, more.warnings...)
		s.addRoots(more.roots)
		for _, r := range list {
			s.rules[r.verdict] = append(s.rules[r.verdict], r)
		}
	}
	if n := len(s.rules[tool.Allow]) + len(s.rules[tool.Ask]) + len(s.rules[tool.Deny]); n > maxRules {
		errs = append(errs, fmt.Errorf("there are %d rules; at most %d can be checked", n, maxRules))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s.restricting = slices.Concat(s.rules[tool.Deny], s.rules[tool.Ask])
	s.resolveRules()
	return s, nil
}

// resolveRules looks up where the names in rules that deny or ask lead, once. A rule that allows
// does not become wider by a link in its own name.
func (s *Set) resolveRules() {
	real := looked{resolve: s.real, known: map[string]string{"/": "/", ".": "."}, missing: map[string]bool{}}
	if s.dirs.Local != nil {
		for _, name := range s.secretsOfHome() {
			if to := real.here(name); to != name && !HoldsSecrets(to) {
				s.homeSecrets = append(s.homeSecrets, to)
			}
		}
	}
	for _, r := range s.restricting {
		if r.path != nil {
			r.real = r.path.resolved(real, s.dirs.Local != nil)
		}
	}
}

// real returns where a path leads, or the path itself if that is not known.
func (s *Set) real(name string) string {
	if s.dirs.Resolve != nil {
		if to, err := s.dirs.Resolve(name); err == nil {
			return to
		}
	}
	return name
}

// addRoots adds directories in which reading needs no permission.
func (s *Set) addRoots(dirs []string) {
	for _, dir := range dirs {
		s.roots = append(s.roots, path.Clean(dir), s.real(dir))
	}
}

// Warnings returns what was ignored in the sources, one sentence each, with FILE:LINE in front.
func (s *Set) Warnings() []string { return s.warnings }

// Allow adds rules that allow, for this process. If a rule is wrong, it adds none.
func (s *Set) Allow(rules ...string) error {
	var list []*rule
	for _, text := range rules {
		r, err := parseRule(text, "", &s.dirs)
		if err != nil {
			return err
		}
		r.verdict, r.where = tool.Allow, "an answer in this session"
		list = append(list, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rules[tool.Allow])+len(list) > maxRules {
		return fmt.Errorf("there are too many rules; at most %d can be checked", maxRules)
	}
	s.rules[tool.Allow] = append(slices.Clip(s.rules[tool.Allow]), list...)
	return nil
}

// of returns the rules with a verdict. The slice does not change.
func (s *Set) of(v tool.Verdict) []*rule {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.rules[v]
}

// inside reports whether a path is in a directory.
func inside(dir, name string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// perhapsInside reports whether some file system finds a path in a directory.
func perhapsInside(dir, name string) bool {
	return inside(texts.FoldedPath(dir), texts.FoldedPath(name))
}

// Listed describes a rule of a [Set].
type Listed struct {
	Rule    string // as it was written
	Verdict tool.Verdict
	Where   string // FILE:LINE, the flag, or "an answer in this session"
	Reason  string // that the rule gives, or ""
}

// List returns the rules: those that deny, those that ask and those that allow, each in the order
// of their sources.
func (s *Set) List() (list []Listed) {
	for _, v := range []tool.Verdict{tool.Deny, tool.Ask, tool.Allow} {
		for _, r := range s.of(v) {
			list = append(list, Listed{Rule: r.text, Verdict: v, Where: r.where, Reason: r.reason})
		}
	}
	return list
}
