package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// maxLinks is the number of symbolic links that a name may go through, as on Linux
	// (path_resolution(7)).
	maxLinks = 40
	// maxName is the most bytes of a name: PATH_MAX of Linux.
	maxName = 4096
	// maxLooks limits the look-ups of elements for a name. os.Root looks up all elements
	// in front of one, so that this is a directory 700 levels deep.
	maxLooks = 1 << 18
)

// place is a file's path relative to a root. If it comes from resolve, no link in it leaves the
// root; os.Root keeps that true if a link is swapped in.
type place struct {
	root *root
	rel  string
}

// abs returns the absolute path, without links as far as place knows.
func (p place) abs() string { return path.Join(p.root.real+"/", p.rel) }

// checkName refuses names that are impossible or probably not meant.
func checkName(name string) error {
	switch {
	case name == "":
		return &nameError{"the name is empty"}
	case len(name) > maxName:
		return &longError{}
	case strings.ContainsRune(name, 0):
		return &nameError{"the name contains a NUL byte"}
	case name == "~" || strings.HasPrefix(name, "~/"):
		return &nameError{"~ is not expanded: give the home directory's path, or ./~ for a file of that name"}
	}
	return nil
}

// nameError says what is wrong with a name. It wraps fs.ErrInvalid.
type nameError struct{ reason string }

func (e *nameError) Error() string { return e.reason }
func (e *nameError) Unwrap() error { return fs.ErrInvalid }

// longError reports a name that is too long. It wraps syscall.ENAMETOOLONG.
type longError struct{}

func (e *longError) Error() string {
	return fmt.Sprintf("the name has more than %d bytes: no file has such a name", maxName)
}
func (e *longError) Unwrap() error { return syscall.ENAMETOOLONG }

// locate finds the root of a name without looking at links. The rest of the name is left to
// os.Root, which follows links inside the root and refuses others. Most calls need no more.
func (l *Local) locate(name string) (place, error) {
	w, err := l.newWalk(name)
	if err != nil {
		return place{}, err
	}
	for w.root == nil && len(w.todo) > 0 {
		if err := w.outside(w.next()); err != nil {
			return place{}, err
		}
	}
	if w.root == nil {
		return place{}, &outsideError{roots: l.roots}
	}
	p := place{w.root, strings.Join(w.todo, "/")}
	if strings.Trim(p.rel, "/") == "" {
		p.rel = "."
	}
	return p, refuseKernelFiles(p.abs())
}

// resolve finds the root of a name and follows links itself, so that links refused by os.Root
// (absolute ones, and those from one root into another) work if they end in a root. With last false
// it does not follow the last element. It does not look at elements after one that does not exist.
func (l *Local) resolve(ctx context.Context, name string, last bool) (place, error) {
	w, err := l.newWalk(name)
	if err != nil {
		return place{}, err
	}
	for len(w.todo) > 0 {
		if err := context.Cause(ctx); err != nil {
			return place{}, err
		}
		elem := w.next()
		switch {
		case w.root == nil:
			err = w.outside(elem)
		case elem == "..":
			err = w.up()
		case !last && len(w.todo) == 0:
			w.done = append(w.done, elem)
		default:
			err = w.down(elem)
		}
		if err != nil {
			return place{}, err
		}
	}
	if w.root == nil {
		outside := &outsideError{roots: l.roots}
		if w.links > 0 {
			outside.to = w.pos
		}
		return place{}, outside
	}
	p := place{w.root, "."}
	if len(w.done) > 0 {
		p.rel = strings.Join(w.done, "/")
	}
	return p, refuseKernelFiles(p.abs())
}

// walk is the state of walking through a name, element by element.
type walk struct {
	l     *Local
	todo  []string
	links int
	looks int

	root *root    // nil outside of the roots, where no files are looked at
	done []string // inside a root: the elements below it, none of them a link
	pos  string   // outside: the path so far
	left *root    // the root that .. left
}

// newWalk starts at the working directory for a relative name and at / for an absolute one.
func (l *Local) newWalk(name string) (*walk, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	w := &walk{l: l}
	if isAbs(name) {
		return w, w.restart(name)
	}
	w.root = l.roots[0]
	w.todo = strings.Split(name, "/")
	return w, nil
}

// isAbs treats a leading slash as absolute on every platform, so that a Unix path is never taken
// for a relative one.
func isAbs(name string) bool { return path.IsAbs(name) || filepath.IsAbs(name) }

// next removes and returns the next element.
func (w *walk) next() string {
	elem := w.todo[0]
	w.todo = w.todo[1:]
	return elem
}

// restart continues at an absolute path, followed by the rest of the name.
func (w *walk) restart(abs string) error {
	elems := strings.Split(strings.TrimPrefix(filepath.ToSlash(abs), "/"), "/")
	w.todo = append(elems, w.todo...)
	w.root, w.done, w.pos = nil, nil, ""
	return w.enter()
}

// enter goes inside if the path so far is a root. It refuses a name that leaves a root and comes
// back into it: nobody needs that, and it would reveal the names of the directories above.
func (w *walk) enter() error {
	for _, r := range w.l.roots {
		if w.pos != r.given && w.pos != r.real {
			continue
		}
		if r == w.left {
			return &outsideError{roots: w.l.roots}
		}
		w.root, w.done = r, nil
		return nil
	}
	return nil
}

// outside takes one element without looking at files. On Windows the first one is the volume.
func (w *walk) outside(elem string) error {
	switch {
	case elem == "" || elem == ".":
		return nil
	case elem == "..":
		w.pos = parent(w.pos)
	case w.pos == "" && filepath.VolumeName(elem) != "":
		w.pos = elem
	default:
		w.pos += "/" + elem
	}
	return w.enter()
}

// parent returns the path without its last element.
func parent(abs string) string { return abs[:max(strings.LastIndexByte(abs, '/'), 0)] }

// up takes a .. inside a root. Above the root it continues outside, because the name may lead into
// another root.
func (w *walk) up() error {
	if n := len(w.done); n > 0 {
		w.done = w.done[:n-1]
		return nil
	}
	if w.root.real == "" { // as on the system, the parent of / is /
		return nil
	}
	w.left = w.root
	return w.restart(parent(w.root.real) + "/")
}

// down takes one element inside a root and follows it if it is a link.
func (w *walk) down(elem string) error {
	if elem == "" || elem == "." {
		return nil
	}
	w.done = append(w.done, elem)
	rel := strings.Join(w.done, "/")
	if w.looks += len(w.done); w.looks > maxLooks || len(rel) > maxName {
		return syscall.ENAMETOOLONG
	}
	info, err := w.root.dir.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !slices.Contains(w.todo, ".."): // it has no meaning there
		rest := slices.DeleteFunc(w.todo, func(elem string) bool { return elem == "" || elem == "." })
		w.done, w.todo = append(w.done, rest...), nil
		return nil
	case err != nil:
		return unwrapOS(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(rel)
	case !info.IsDir() && len(w.todo) > 0:
		return syscall.ENOTDIR
	}
	return nil
}

// follow replaces the last element by its link's target.
func (w *walk) follow(rel string) error {
	if w.links++; w.links > maxLinks {
		return syscall.ELOOP
	}
	target, err := w.root.dir.Readlink(rel)
	if err != nil {
		return unwrapOS(err)
	}
	w.done = w.done[:len(w.done)-1]
	if isAbs(target) {
		w.left = nil
		return w.restart(target)
	}
	w.todo = append(strings.Split(filepath.ToSlash(target), "/"), w.todo...)
	return nil
}

// unwrapOS unwraps the os package's errors: ours name the path that the caller used.
func unwrapOS(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	case interface{ Unwrap() []error }:
		errs := slices.Clone(e.Unwrap())
		if len(errs) == 1 {
			return unwrapOS(errs[0])
		}
		for i := range errs {
			errs[i] = unwrapOS(errs[i])
		}
		return errors.Join(errs...)
	}
	return err
}
