package rules

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is the number of links to files that do not exist which a name may go through.
const maxLinks = 40

// RealPath returns an absolute path of this machine without symbolic links. The last elements need
// not exist. It suits [Dirs].Resolve.
func RealPath(name string) (string, error) { return realPath(name, maxLinks) }

// realPath does what RealPath does. left counts the links and missing elements that may still
// follow.
func realPath(name string, left int) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil || !errors.Is(err, fs.ErrNotExist) || left == 0 {
		return filepath.ToSlash(real), err
	}
	if to, linkErr := os.Readlink(name); linkErr == nil {
		if !filepath.IsAbs(to) {
			to = filepath.Dir(name) + "/" + to
		}
		return realPath(to, left-1)
	}
	dir, base := filepath.Split(name)
	if dir == "" || dir == name || base == ".." || base == "." || base == "" {
		return "", err
	}
	if real, err = realPath(strings.TrimRight(dir, "/"), left-1); err != nil {
		return "", err
	}
	return real + "/" + base, nil
}

// looked holds where names lead that were looked up already, so that thousands of names take about
// one system call each.
type looked struct {
	resolve func(name string) string
	known   map[string]string
	missing map[string]bool
}

// far returns where a name leads on another machine.
func (l looked) far(name string) string {
	to, ok := l.known[name]
	if !ok {
		to = l.resolve(name)
		l.known[name] = to
	}
	return to
}

// here returns where a clean name leads on this machine.
func (l looked) here(name string) string {
	to, ok := l.known[name]
	if ok {
		return to
	}
	dir := path.Dir(name)
	above := l.here(dir)
	to = path.Join(above, path.Base(name))
	if l.missing[name] = l.missing[dir]; !l.missing[dir] {
		info, err := os.Lstat(to)
		if l.missing[name] = err != nil; err == nil && info.Mode()&fs.ModeSymlink != 0 {
			to = l.resolve(to)
		}
	}
	l.known[name] = to
	return to
}
