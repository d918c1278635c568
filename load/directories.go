package load

import (
	"io/fs"
	"os"
	"time"

	"github.com/attractor-go/attractor/internal/userfiles"
)

// directories are those of this machine.
type directories struct{}

func (directories) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }

func (directories) State(dir string) (any, bool) {
	changed, err := userfiles.ChangeTime(dir)
	const resolution = 20 * time.Millisecond // of the times of files
	return changed, err == nil && time.Since(changed) > resolution
}
