package git

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/internal/userfiles"
)

const (
	// maxWalked is the most directories in which Below looks: a sandbox looks in as many.
	maxWalked = 10_000
	// MaxFound is the most directories that it finds. One more says that there are more.
	MaxFound = 200
)

// Nesting finds the repositories below directories of this machine. It remembers what directories
// have, so that it is fast where few have changed. The zero value is ready for use, by several
// goroutines.
type Nesting struct {
	mu    sync.Mutex
	known map[string]listing
}

// listing is what a directory has that Nesting looks for.
type listing struct {
	changed time.Time
	dotGit  bool     // it is the top of a repository, or one without a work tree
	enters  bool     // it may have something that starts when a shell enters it
	dirs    []string // names
}

// timeResolution is that of the times of files.
const timeResolution = 20 * time.Millisecond

// Below returns the tops of the repositories below a directory, those near it first. It looks into
// node_modules last, and not further than 10,000 directories.
func (n *Nesting) Below(dir string) (tops []string) {
	return n.find(dir, func(in listing) bool { return in.dotGit })
}

// Entered returns the directories below one, as far as Below looks, that have a file by whose name
// direnv, mise or asdf may start something when a shell enters them.
func (n *Nesting) Entered(dir string) (dirs []string) {
	return n.find(dir, func(in listing) bool { return in.enters })
}

// find returns the directories below one that have what is looked for.
func (n *Nesting) find(dir string, has func(in listing) bool) (found []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) > 4*maxWalked {
		n.known = map[string]listing{}
	}
	dirs, last := []string{dir}, []string(nil)
	for range maxWalked {
		if len(dirs) == 0 {
			dirs, last = last, nil
		}
		if len(dirs) == 0 || len(found) > MaxFound {
			break
		}
		at := dirs[0]
		dirs = dirs[1:]
		in := n.list(at)
		if at != dir && has(in) {
			found = append(found, at)
		}
		for _, name := range in.dirs {
			if below := filepath.Join(at, name); name == "node_modules" {
				last = append(last, below)
			} else {
				dirs = append(dirs, below)
			}
		}
	}
	return found
}

// list returns what is in a directory. One that cannot be read has nothing: git cannot be started
// there either.
func (n *Nesting) list(dir string) (in listing) {
	changed, err := userfiles.ChangeTime(dir)
	if old, ok := n.known[dir]; ok && err == nil && old.changed.Equal(changed) {
		return old
	}
	delete(n.known, dir)
	settled := err == nil && time.Since(changed) > timeResolution
	entries, listErr := os.ReadDir(dir)
	if listErr != nil {
		return in
	}
	in.changed = changed
	parts := 0 // of a repository without a work tree
	for _, e := range entries {
		name := strings.TrimPrefix(e.Name(), ".")
		in.enters = in.enters || name == "envrc" || name == "tool-versions" || strings.HasPrefix(name, "mise") ||
			e.Name() == ".config"
		switch {
		case e.Name() == ".git":
			in.dotGit = true
			continue
		case e.Name() == "HEAD", e.Name() == "objects", e.Name() == "refs":
			parts++
		}
		if e.IsDir() {
			in.dirs = append(in.dirs, e.Name())
		}
	}
	in.dotGit = in.dotGit || parts == 3
	if settled {
		n.known[dir] = in
	}
	return in
}
