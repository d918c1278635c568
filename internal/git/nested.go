package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const (
	// maxWalked is the most directories in which Nested looks: a sandbox looks in as many.
	maxWalked = 10_000
	// maxRepositories is the most repositories that it finds.
	maxRepositories = 200
)

// Nested returns the tops of the repositories below a directory of this machine, those near it
// first. It looks into node_modules last, and not further than 10,000 directories.
func Nested(dir string) (tops []string) {
	dirs, last := []string{dir}, []string(nil)
	for n := 0; n < maxWalked && len(tops) < maxRepositories; n++ {
		if len(dirs) == 0 {
			dirs, last = last, nil
		}
		if len(dirs) == 0 {
			break
		}
		at := dirs[0]
		dirs = dirs[1:]
		list, err := os.ReadDir(at)
		if err != nil {
			continue // git cannot be started there either
		}
		if at != dir && slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
			tops = append(tops, at)
		}
		for _, e := range list {
			switch name := filepath.Join(at, e.Name()); {
			case !e.IsDir() || e.Name() == ".git":
			case e.Name() == "node_modules":
				last = append(last, name)
			default:
				dirs = append(dirs, name)
			}
		}
	}
	return tops
}
