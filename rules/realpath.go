package rules

import (
	"errors"
	"io/fs"
	"os"
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
