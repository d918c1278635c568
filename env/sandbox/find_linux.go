package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// find returns the mechanism of a level.
func find(dir string, o *Options) (mechanism, error) {
	if err := checkSockets(o.AllowSockets); err != nil {
		return nil, err
	}
	switch o.Level {
	case WorkspaceWeak:
		return newLandlock(dir, o)
	case Observe:
		return newObserve(o)
	}
	return newBubblewrap(dir, o)
}

// checkSockets returns an error if one of the names is not that of a socket.
func checkSockets(names []string) error {
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeSocket == 0 || !filepath.IsAbs(name) {
			return fmt.Errorf("%q is not the absolute path of a Unix socket: %w", name, cmp.Or(err, errNoSocket))
		}
	}
	return nil
}

var errNoSocket = errors.New("the path is relative, or leads to something else")
