package env

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
)

// root is a directory in which files may be opened.
type root struct {
	dir *os.Root
	// Two spellings, absolute, slash-separated and without a trailing slash, so that "/" is "".
	given, real string

	info     fs.FileInfo // identifies the directory under any name
	readOnly bool
}

// openRoot opens an allowed directory.
func openRoot(dir string) (*root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	// Checked before it is opened, because opening a FIFO blocks.
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	r := &root{given: rootPath(abs), real: rootPath(real), info: info}
	if err := refuseKernelFiles(r.real); err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	if r.dir, err = os.OpenRoot(real); err != nil {
		return nil, err
	}
	return r, nil
}

// rootPath returns an absolute path of the platform in the form of root.given.
func rootPath(abs string) string { return strings.TrimSuffix(filepath.ToSlash(abs), "/") }

// refuseKernelFiles refuses paths below /proc, /sys and /dev, whose files give access to the kernel
// or to other processes. It matters only for a root that contains them, such as "/". /dev/shm is an
// ordinary memory file system.
func refuseKernelFiles(abs string) error {
	for _, tree := range [...]string{"/proc", "/sys", "/dev"} {
		if below(abs, tree) && !below(abs, "/dev/shm") {
			return fmt.Errorf("files in %s cannot be used: %w", tree, fs.ErrPermission)
		}
	}
	return nil
}

// below reports whether abs is tree or inside it.
func below(abs, tree string) bool {
	rest, ok := strings.CutPrefix(abs, tree)
	return ok && (rest == "" || rest[0] == '/')
}

// outsideError reports that a name leads out of the roots.
type outsideError struct {
	to    string // where it leads, if known
	roots []*root
}

// Error names the allowed directories, so that a model can choose another path.
func (e *outsideError) Error() string {
	where := ""
	if e.to != "" {
		where = "leads to " + texts.Shown(e.to) + ", which is "
	}
	return where + "outside of the allowed directories (" + dirList(e.roots) + "); use a path inside of them"
}

// dirList returns directories in the form that people and models read.
func dirList(roots []*root) string {
	var dirs []string
	for _, r := range roots {
		dir := r.given + "/"
		if r.readOnly {
			dir += " (read-only)"
		}
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ", ")
}

func (e *outsideError) Unwrap() error { return fs.ErrPermission }
