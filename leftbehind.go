package attractor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/shquote"
)

// maxDirs is how many directories are looked at for repositories that commands have left behind.
const maxDirs = 10_000

// maxGitConfig is the most bytes of a repository's configuration that are read.
const maxGitConfig = 1 << 20

// leftBehind looks for repositories that commands in the sandbox have made or configured, and that would make the user's next git command
// run a program: the sandbox keeps its commands from doing harm, and not what they leave in the roots.
type leftBehind struct {
	roots []string
	since time.Time // files that have changed since then are the session's
	warn  func(code, text string)

	mu   sync.Mutex
	told map[string]bool // repositories
}

// lookForRepositories looks for such repositories at the end of each input and of the session.
func (s *Setup) lookForRepositories() {
	if !s.boxed() || s.box.Level() == sandbox.ReadOnly {
		return
	}
	const tick = 20 * time.Millisecond // at least that of the kernel's clock, whose time files have
	l := &leftBehind{roots: env.ConfinementOf(s.Local).Writable, since: time.Now().Add(-tick), warn: s.warnings.add, told: map[string]bool{}}
	s.leftBehind = l
	show := s.Options.OnEvent
	s.Options.OnEvent = func(ev agent.Event) {
		if _, ok := ev.(*agent.ProcessingEnd); ok {
			l.look()
		}
		if show != nil {
			show(ev)
		}
	}
}

// closeLeftBehind looks once more: commands in the background have ended now.
func (s *Setup) closeLeftBehind() error {
	if s.leftBehind != nil {
		s.leftBehind.look()
	}
	return nil
}

// look warns of repositories that were not told yet.
func (l *leftBehind) look() {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := maxDirs
	for _, root := range l.roots {
		err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil // what this user cannot read, no command of this user has made
			}
			switch left--; {
			case left < 0:
				l.warnOnce("", "repositories that commands may have left behind were not looked for in all directories: there are more than "+strconv.Itoa(maxDirs))
				return fs.SkipAll
			case d.Name() == ".git": // its work tree was looked at; submodules have theirs in it
				return nil
			case d.Name() == "objects" && isRepository(filepath.Dir(dir)):
				return fs.SkipDir
			}
			if why := l.startsProgram(dir); why != "" {
				l.warnOnce(dir, fmt.Sprintf("a command has left a repository in %s in which git may run a program (%s); look at it by: git --no-pager config --file %s --list",
					dir, why, shquote.Shown(configOf(dir))))
			}
			return nil
		})
		if err != nil {
			l.warn("repository", "repositories that commands have left behind cannot be looked for: "+err.Error())
		}
	}
}

func (l *leftBehind) warnOnce(dir, text string) {
	if !l.told[dir] {
		l.told[dir] = true
		l.warn("repository", text)
	}
}

// startsSomething reports whether a setting may start a program for a user, who has a terminal and runs commands that change something.
func startsSomething(s git.Setting) bool {
	switch s.Section() {
	case "pager", "alias":
		return true
	case "core":
		return !s.Harmless() || slices.Contains([]string{"hookspath", "pager", "editor", "sshcommand"}, s.Key())
	}
	return !s.Harmless()
}

// configOf returns the configuration of the repository whose work tree, or which itself, is a directory.
func configOf(dir string) string {
	if info, err := os.Stat(filepath.Join(dir, ".git")); err == nil && info.IsDir() {
		return filepath.Join(dir, ".git", "config")
	}
	return filepath.Join(dir, "config")
}

// startsProgram returns why git may run a program in the repository of a directory, if it is one and the session has made or configured it.
func (l *leftBehind) startsProgram(dir string) string {
	gitDir := filepath.Join(dir, ".git")
	if info, err := os.Lstat(gitDir); err != nil || !info.IsDir() {
		if gitDir = dir; !isRepository(dir) { // a bare one; what a .git file leads to is found by itself
			return ""
		}
	}
	for _, name := range []string{"config", "config.worktree"} {
		file := filepath.Join(gitDir, name)
		if !l.changed(file) {
			continue
		}
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig { // a FIFO would block
			return name + " is no ordinary file"
		}
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		list, err := git.ParseConfig(string(data))
		if err != nil {
			return name + " has an unusual form"
		}
		if i := slices.IndexFunc(list, startsSomething); i >= 0 {
			return "it has " + list[i].Name
		}
	}
	return l.newHook(filepath.Join(gitDir, "hooks"))
}

// newHook returns the name of a hook that the session has made, in a sentence.
func (l *leftBehind) newHook(dir string) string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range list {
		name := filepath.Join(dir, e.Name())
		if filepath.Ext(name) == ".sample" || !l.changed(name) {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.Mode()&0o111 != 0 && info.Mode().IsRegular() {
			return "it has the hook " + e.Name()
		}
	}
	return ""
}

// isRepository reports whether git takes a directory for a repository without a work tree.
func isRepository(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// changed reports whether a file has changed since the session began, whatever its other times say.
func (l *leftBehind) changed(name string) bool {
	t, err := changeTime(name)
	return err == nil && !t.Before(l.since)
}
