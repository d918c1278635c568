package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// change describes one change to an entry of a directory.
type change struct {
	op, name string
	follow   bool // change the target if the name is a symbolic link
	parents  bool // make missing parent directories
	do       func(dir *os.Root, base string) error
}

// change carries out a change.
func (l *Local) change(ctx context.Context, c change) error {
	err := context.Cause(ctx)
	if err == nil {
		var p place
		if p, err = l.resolve(ctx, c.name, c.follow); err == nil {
			err = l.inDirectory(ctx, p, c.parents, c.do)
		}
	}
	if err != nil {
		return l.fileError(c.op, c.name, err)
	}
	return nil
}

// inDirectory calls do with the directory that holds a place and the place's name in that
// directory. With parents it makes missing directories. The directory stays the same one even if it
// is moved meanwhile. It returns an error if files in it are read-only, or if a check of [Placed]
// refuses the place.
func (l *Local) inDirectory(ctx context.Context, p place, parents bool,
	do func(dir *os.Root, base string) error) (err error) {
	if check := placedCheck(ctx); check != nil {
		if err := check(p.abs()); err != nil {
			return err
		}
	}
	dir, err := l.openWritable(l.innermost(p), parents)
	if err != nil {
		return err
	}
	_, base := p.split()
	defer func() { err = errors.Join(err, dir.Close()) }()
	return do(dir, base)
}

// split returns the directory that holds a place and the place's name in it, with its trailing
// slash if there is one. Both are "." for a root.
func (p place) split() (above, base string) {
	end := strings.TrimRight(p.rel, "/")
	return path.Dir(end), p.rel[strings.LastIndexByte(end, '/')+1:]
}

// innermost returns a place relative to the innermost root that contains it.
func (l *Local) innermost(p place) place {
	abs := p.abs()
	for _, r := range l.roots {
		if len(r.real) > len(p.root.real) && below(abs, r.real) {
			p = place{r, strings.TrimPrefix(abs[len(r.real):], "/")}
		}
	}
	if p.rel == "" {
		p.rel = "."
	}
	return p
}

// openWritable opens the directory that holds a place if files in it may be changed. It goes
// element by element and follows no links, so that a link swapped in cannot lead into a read-only
// root, or to another place than the one that was checked. It recognizes roots by os.SameFile and
// not by name, because case-insensitive file systems have several names for them.
func (l *Local) openWritable(p place, parents bool) (_ *os.Root, err error) {
	above, base := p.split()
	in := p.root
	dir, err := p.root.dir.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for elem := range strings.SplitSeq(above, "/") {
		if elem == "." {
			continue
		}
		next, err := enterDir(dir, elem, parents && !in.readOnly)
		err = errors.Join(err, dir.Close())
		switch {
		case in.readOnly && errors.Is(err, fs.ErrNotExist):
			return nil, l.readOnly(in)
		case err != nil:
			return nil, err
		}
		dir = next
		in = l.rootAt(dir, ".", in)
	}
	if target := l.rootAt(dir, base, in); target.readOnly {
		in = target
	}
	if in.readOnly {
		return nil, errors.Join(l.readOnly(in), dir.Close())
	}
	return dir, nil
}

// enterDir opens a subdirectory, never through a link. With create it makes a missing one.
func enterDir(dir *os.Root, elem string, create bool) (*os.Root, error) {
	info, err := dir.Lstat(elem)
	if create && errors.Is(err, fs.ErrNotExist) {
		if err := dir.Mkdir(elem, parentPerm); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		info, err = dir.Lstat(elem)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, syscall.ENOTDIR
	}
	next, err := dir.OpenRoot(elem + "/.")
	if err != nil {
		return nil, err
	}
	if now, err := next.Stat("."); err != nil || !os.SameFile(info, now) {
		return nil, errors.Join(fmt.Errorf("%s was replaced during the operation; try again", elem), err, next.Close())
	}
	return next, nil
}

// rootAt returns the root that is the same directory as an entry of dir, or otherwise if there is
// none.
func (l *Local) rootAt(dir *os.Root, entry string, otherwise *root) *root {
	info, err := dir.Lstat(strings.TrimRight(entry, "/"))
	if err != nil || !info.IsDir() {
		return otherwise
	}
	for _, r := range l.roots {
		if os.SameFile(r.info, info) {
			return r
		}
	}
	return otherwise
}

// readOnly returns the error for a change in a read-only root.
func (l *Local) readOnly(in *root) error { return &readOnlyRoot{in, l.roots} }

// readOnlyRoot reports an attempt to change a file in a read-only root.
type readOnlyRoot struct {
	root  *root
	roots []*root
}

// Error names the writable directories, so that a model can choose another path.
func (e *readOnlyRoot) Error() string {
	writable := slices.DeleteFunc(slices.Clone(e.roots), func(r *root) bool { return r.readOnly })
	if len(writable) == 0 {
		return fmt.Sprintf("%s/ is read-only, and so is every allowed directory: files can be read but not changed",
			e.root.given)
	}
	return fmt.Sprintf("%s/ is read-only: files there can be read but not changed; choose a path in %s", e.root.given,
		dirList(writable))
}

func (e *readOnlyRoot) Unwrap() error { return fs.ErrPermission }

// checkNew refuses names for new files that are reserved or, unless any are allowed, contain
// control characters.
func checkNew(base string, any bool) error {
	switch strings.TrimRight(base, "/") {
	case "", ".", "..":
		return fs.ErrExist
	}
	if !any && strings.ContainsFunc(base, unicode.IsControl) {
		return &nameError{fmt.Sprintf("a new file's name must not contain control characters: %q", base)}
	}
	return nil
}
