package load

import (
	"io/fs"
	"os"
	"time"

	"github.com/attractor-go/attractor/internal/userfiles"
)

// directories reads the directories of this machine.
type directories struct{}

// ReadDir returns the entries of a directory.
func (directories) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

// State returns a value that changes when the directory does, and whether it can be relied on: not if
// the directory has just changed, because another change could get the same time.
func (directories) State(dir string) (any, bool) {
	changed, err := userfiles.ChangeTime(dir)
	const resolution = 20 * time.Millisecond // of the times of files
	return changed, err == nil && time.Since(changed) > resolution
}
