package tool

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
)

// meant holds a path as a call names it, and the path of the entry that is meant by it. All are
// absolute.
type meant struct {
	given, path, dir string      // dir is the working directory
	used             atomic.Bool // the tool has asked for the entry
}

// findMeant replaces the paths by those of the entries that are meant, and returns the paths that
// differ.
func findMeant(ctx context.Context, e env.Environment, paths []string) ([]*meant, error) {
	var list []*meant
	for i, given := range paths {
		path, err := env.Meant(ctx, e, given)
		if err != nil {
			return nil, err
		}
		if path != given {
			list = append(list, &meant{given: given, path: path, dir: e.WorkDir()})
			paths[i] = path
		}
	}
	return list, nil
}

// Named returns the name of the entry that the call means by a name of its arguments. The two
// differ if there is no entry of that name, but one whose name looks the same; [Access.Paths] has
// that one, too. Tools call it for every name that their Access has. The result of the call says
// which entry was used.
func (c *Call) Named(name string) string {
	if name == "" || len(c.meant) == 0 {
		return name
	}
	abs := Access{Paths: []string{name}}.In(c.Env.WorkDir()).Paths[0]
	for _, m := range c.meant {
		if m.given != abs {
			continue
		}
		m.used.Store(true)
		if !path.IsAbs(name) {
			return relative(c.Env.WorkDir(), m.path)
		}
		return m.path
	}
	return name
}

// relative returns a path as results show it.
func relative(dir, abs string) string {
	return strings.TrimPrefix(abs, strings.TrimSuffix(dir, "/")+"/")
}

// said returns the line of a result about the entry that was used.
func (m *meant) said() string {
	return fmt.Sprintf("[There is no %+q; %+q looks the same, and was used.]", relative(m.dir, m.given),
		relative(m.dir, m.path))
}
