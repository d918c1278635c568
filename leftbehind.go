package attractor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// maxDirs is how many directories are looked at for repositories that commands have left behind.
const maxDirs = 10_000

// maxGitConfig is the most bytes of a repository's configuration that are read.
const maxGitConfig = 1 << 20

// leftBehind looks for repositories that commands in the sandbox have made or configured, and that
// would make the user's next git command run a program. The sandbox confines commands, but not the
// programs that files which they leave in the roots start later.
type leftBehind struct {
	roots []string
	since time.Time       // files that have changed since then are the session's
	known map[way]bool    // how git came to repositories before, of which the sandbox protects what starts programs
	shut  map[string]bool // directories that could not be read before
	warn  func(code, text string)

	mu   sync.Mutex
	told map[string]bool // repositories
}

// way is how git comes from a directory to that of a repository, or from there to the one with
// which it shares its configuration.
type way struct{ from, to string }

// lookForRepositories looks for such repositories at the end of each input and of the session.
func (s *Setup) lookForRepositories() {
	if !s.boxed() || s.box.Level() == sandbox.ReadOnly {
		return
	}
	const tick = 20 * time.Millisecond // at least that of the kernel's clock, whose time files have
	l := newLeftBehind(env.ConfinementOf(s.Local).Writable, time.Now().Add(-tick), s.warnings.add)
	s.leftBehind = l
	s.onEvent(func(ev agent.Event) {
		if _, ok := ev.(*agent.ProcessingEnd); ok {
			l.look()
		}
	})
}

// newLeftBehind returns a leftBehind that knows the repositories which exist now.
func newLeftBehind(roots []string, since time.Time, warn func(code, text string)) *leftBehind {
	l := &leftBehind{roots: roots, since: since, known: map[way]bool{}, shut: map[string]bool{}, warn: warn,
		told: map[string]bool{}}
	_ = l.walk(func(dir string) { // what it does not find is new
		at := gitDir(dir)
		l.known[way{dir, at}], l.known[way{at, commonDir(at)}] = true, true
	}, func(dir string) { l.shut[dir] = true })
	return l
}

// closeLeftBehind looks once more: commands in the background have ended now.
func (s *Setup) closeLeftBehind() error {
	if s.leftBehind != nil {
		s.leftBehind.look()
	}
	return nil
}

// look warns of repositories that it has not warned of yet.
func (l *leftBehind) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.walk(func(dir string) {
		if why, config := l.startsProgram(dir); why != "" {
			l.warnOnce(dir, fmt.Sprintf(
				"a command has left a repository in %s in which git may run a program (%s); look at it by: git "+
					"--no-pager config --file %s --list",
				dir, why, shquote.Shown(config)))
		}
	}, func(dir string) {
		if !l.shut[dir] {
			l.warnOnce(dir, fmt.Sprintf(
				"a command has left the directory %s, which cannot be read: git may run a program in a "+
					"repository there",
				dir))
		}
	})
	switch {
	case errors.Is(err, errManyDirs):
		l.warnOnce("", "repositories that commands may have left behind were not looked for in all directories: "+
			"there are more than "+strconv.Itoa(maxDirs))
	case err != nil:
		l.warn("repository", "repositories that commands have left behind cannot be looked for: "+err.Error())
	}
}

var errManyDirs = errors.New("there are too many directories")

// walk visits the directories in the roots that may be work trees or repositories, and those that
// it cannot read.
func (l *leftBehind) walk(visit, shut func(dir string)) error {
	left := maxDirs
	for _, root := range l.roots {
		err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrPermission) {
				shut(dir)
			}
			if err != nil || !d.IsDir() {
				return nil
			}
			switch left--; {
			case left < 0:
				return errManyDirs
			case d.Name() == ".git": // its work tree was looked at; submodules have theirs in it
				return nil
			case d.Name() == "objects" && isRepository(filepath.Dir(dir)):
				return fs.SkipDir // what a .git file leads to in it is looked at with that
			}
			visit(dir)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// warnOnce warns of a directory, unless that was done.
func (l *leftBehind) warnOnce(dir, text string) {
	if !l.told[dir] {
		l.told[dir] = true
		l.warn("repository", text)
	}
}

// gitDir returns the repository of a directory that is a work tree, or that is a repository itself.
// It returns "" if there is none.
func gitDir(dir string) string {
	dotGit := filepath.Join(dir, ".git")
	if info, err := os.Stat(dotGit); err == nil {
		if info.IsDir() {
			return dotGit
		}
		if target, _ := strings.CutPrefix(readPath(dotGit), "gitdir: "); target != "" {
			return pathFrom(dir, target)
		}
		return ""
	}
	if isRepository(dir) {
		return dir
	}
	return ""
}

// commonDir returns the directory whose configuration a repository shares, or "" if it has its own
// or gitDir is "".
func commonDir(gitDir string) string {
	if to := readPath(filepath.Join(gitDir, "commondir")); gitDir != "" && to != "" {
		return pathFrom(gitDir, to)
	}
	return ""
}

// pathFrom returns the absolute path of a name that may be relative to a directory. A .. after a
// symbolic link is the parent of the link's target.
func pathFrom(dir, name string) string {
	if !filepath.IsAbs(name) {
		name = dir + string(filepath.Separator) + name
	}
	return userfiles.RealPath(name)
}

// startsProgram returns why git may run a program in the repository of a directory, and the file of
// the repository's configuration. why is "" unless the session has made or configured the
// repository, or the way by which git comes to it.
func (l *leftBehind) startsProgram(dir string) (why, config string) {
	at := gitDir(dir)
	if at == "" {
		return "", ""
	}
	known := l.known[way{dir, at}]
	if why := l.reason(at, known); why != "" {
		return why, filepath.Join(at, "config")
	}
	to := commonDir(at)
	if to == "" {
		return "", ""
	}
	return l.reason(to, known && l.known[way{at, to}]), filepath.Join(to, "config")
}

// reason returns why git may run a program because of the configuration or the hooks in a
// repository, or "". In a known one only what has changed since the session began counts.
func (l *leftBehind) reason(gitDir string, known bool) string {
	fresh := func(name string) bool { return !known || l.changed(name) }
	for _, name := range []string{"config", "config.worktree"} {
		file := filepath.Join(gitDir, name)
		info, err := os.Lstat(file)
		if err != nil || !fresh(file) {
			continue
		}
		if !info.Mode().IsRegular() || info.Size() > maxGitConfig { // a FIFO would block
			return name + " is no ordinary file"
		}
		data, err := userfiles.Read(file, maxGitConfig)
		if err != nil {
			continue
		}
		list, err := git.ParseConfig(string(data))
		if err != nil {
			return name + " has an unusual form"
		}
		if i := slices.IndexFunc(list, git.Setting.MayStart); i >= 0 {
			return "it has " + list[i].Name
		}
	}
	return newHook(filepath.Join(gitDir, "hooks"), fresh)
}

// readPath returns the path in a .git file or the like, as git reads it: without the ends of lines
// at the end of the file, and up to a NUL. Without such a file it is "".
func readPath(name string) string {
	data, err := userfiles.Read(name, maxGitConfig)
	if err != nil {
		return ""
	}
	text, _, _ := strings.Cut(strings.TrimRight(string(data), "\r\n"), "\x00")
	return text
}

// newHook returns a reason that names a hook which the session has made, or "".
func newHook(dir string, fresh func(name string) bool) string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		if filepath.Ext(name) == ".sample" || !fresh(name) {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.Mode()&0o111 != 0 && info.Mode().IsRegular() {
			return "it has the hook " + e.Name()
		}
	}
	return ""
}

// isRepository reports whether git may take a directory for a repository without a work tree. HEAD
// may be a link that leads to nothing.
func isRepository(dir string) bool {
	there := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	return there("HEAD") && (there("objects") && there("refs") || there("commondir"))
}

// changed reports whether a file has changed since the session began, whatever its other times say.
func (l *leftBehind) changed(name string) bool {
	t, err := userfiles.ChangeTime(name)
	return err == nil && !t.Before(l.since)
}
