package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
)

// Meant returns the name of the entry that is meant by a name. That is the name itself if it
// exists. Otherwise elements that do not exist are replaced by the entries whose names are equal to
// the eye: in another Unicode normal form, or with other kinds of spaces or quotes. A system whose
// file systems ignore case also gives the entry's own spelling. Elements without such an entry are
// kept as spelled.
//
// The error is an [AmbiguousError] if there are several such entries, and wraps
// syscall.ENAMETOOLONG if no file has so long a name. Whatever else goes wrong is left to the
// operation with the name.
func Meant(ctx context.Context, e Environment, name string) (string, error) {
	if len(name) > maxName {
		return "", &longError{}
	}
	if checkName(name) != nil || !folding(e) && !texts.HasLook(name) || strings.Contains(name, "../") {
		return name, nil
	}
	dir, elems := existing(ctx, e, path.Clean(name))
	if len(elems) == 0 {
		return name, nil
	}
	meant, err := descend(ctx, e, dir, elems)
	if err != nil || meant == path.Clean(name) {
		return name, err
	}
	return meant, nil
}

// existing splits a path into a directory that exists as spelled and the elements below it that
// have to be looked at: none if the path exists. Where case may be ignored, all elements below the
// working directory have to be looked at.
func existing(ctx context.Context, e Environment, name string) (dir string, elems []string) {
	for dir = name; ; dir = path.Dir(dir) {
		top := dir == "." || dir == "/" || dir == e.WorkDir()
		switch _, err := e.Stat(ctx, dir); {
		case err == nil && (top || !folding(e)):
			return dir, elems
		case err != nil && (top || !errors.Is(err, fs.ErrNotExist)):
			if len(elems) < 2 { // the name cannot be looked at, or what is above it
				return dir, nil
			}
			return path.Join(dir, elems[0]), elems[1:] // for a directory above those that may be used
		}
		elems = append([]string{path.Base(dir)}, elems...)
	}
}

// folding reports whether the file systems of an environment may ignore case.
func folding(e Environment) bool {
	system := e.Platform().OS
	return system == "darwin" || system == "windows"
}

// descend returns the path of the entries below a directory that are meant by the elements.
func descend(ctx context.Context, e Environment, dir string, elems []string) (string, error) {
	for i, elem := range elems {
		entries, err := e.ReadDir(ctx, dir)
		if err != nil {
			return path.Join(dir, path.Join(elems[i:]...)), nil
		}
		_, err = e.Stat(ctx, path.Join(dir, elem))
		same := alike(elem, entries, err == nil)
		switch len(same) {
		case 0:
			return path.Join(dir, path.Join(elems[i:]...)), nil
		case 1:
			dir = path.Join(dir, same[0])
		default:
			return "", &AmbiguousError{Name: path.Join(dir, elem), Entries: same}
		}
	}
	return dir, nil
}

// alike returns the entry of a name, or else those whose names are equal to the eye. If the file
// system finds the name although it is not listed, it ignores case.
func alike(name string, entries []Info, found bool) []string {
	look := func(name string) string {
		if name = texts.Look(name); found {
			name = texts.FoldedPath(name)
		}
		return name
	}
	var same []string
	for want, i := look(name), 0; i < len(entries); i++ {
		switch entry := entries[i].Name; {
		case entry == name:
			return []string{name}
		case look(entry) == want:
			same = append(same, entry)
		}
	}
	return same
}

// AmbiguousError reports that a name does not exist, and that several entries are equal to it to
// the eye.
type AmbiguousError struct {
	Name    string
	Entries []string // of the name's directory
}

// Error shows the names with escapes, because they look the same.
func (e *AmbiguousError) Error() string {
	var list []string
	for _, entry := range e.Entries {
		list = append(list, strconv.QuoteToASCII(entry))
	}
	return fmt.Sprintf(
		"%s does not exist, and several entries of its directory look like it: %s. Give one of these names "+
			"exactly, with their escapes in the arguments",
		strconv.QuoteToASCII(e.Name),
		strings.Join(list, " and "),
	)
}

// Unwrap returns fs.ErrNotExist.
func (e *AmbiguousError) Unwrap() error { return fs.ErrNotExist }
