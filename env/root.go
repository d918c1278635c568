package env

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/attractor-go/attractor/internal/names"
)

// root is a directory in which files may be touched.
type root struct {
	dir *os.Root
	// The two ways to spell it, absolute, slash-separated and without a slash at the end, so that "/" is "".
	given, real string

	info     fs.FileInfo // by which the directory is known whatever it is called
	readOnly bool
}

// openRoot opens a directory that the host allows.
func openRoot(dir string) (*root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, err
	}
	// Looked at before it is opened, because opening a FIFO blocks.
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
	}
	r := &root{given: spelled(abs), real: spelled(real), info: info}
	if err := refuseKernelFiles(r.real); err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	if r.dir, err = os.OpenRoot(real); err != nil {
		return nil, err
	}
	return r, nil
}

// spelled returns an absolute path of the platform the way that roots are compared.
func spelled(abs string) string { return strings.TrimSuffix(filepath.ToSlash(abs), "/") }

// refuseKernelFiles refuses paths into the trees where a file is not data but a door into the kernel or into other processes.
// It matters only for a root that contains them, such as "/"; /dev/shm is a plain memory file system.
func refuseKernelFiles(abs string) error {
	for _, tree := range [...]string{"/proc", "/sys", "/dev"} {
		if below(abs, tree) && !below(abs, "/dev/shm") {
			return fmt.Errorf("files under %s are not served: %w", tree, fs.ErrPermission)
		}
	}
	return nil
}

// below reports whether abs is tree or inside of it.
func below(abs, tree string) bool {
	rest, ok := strings.CutPrefix(abs, tree)
	return ok && (rest == "" || rest[0] == '/')
}

// outsideError says that a name leads out of the roots.
type outsideError struct {
	to    string // where it leads, as far as is known
	roots []*root
}

// Error names the allowed directories: a model that reads it can choose another path.
func (e *outsideError) Error() string {
	where := ""
	if e.to != "" {
		where = "leads to " + names.Shown(e.to) + ", which is "
	}
	return where + "outside of the allowed directories (" + listed(e.roots) + "); use a path inside of them"
}

// listed returns directories as people and models read them.
func listed(roots []*root) string {
	dirs := make([]string, len(roots))
	for i, r := range roots {
		if dirs[i] = r.given + "/"; r.readOnly {
			dirs[i] += " (read-only)"
		}
	}
	return strings.Join(dirs, ", ")
}

func (e *outsideError) Unwrap() error { return fs.ErrPermission }
