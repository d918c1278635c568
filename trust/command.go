package trust

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// written finds the files to which a command only writes, such as its log.
var written = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(>[>|]?[ \t]*|\btee[ \t]+(-a[ \t]+)?|\btouch[ \t]+)[^\s;|&<>()]+`)
})

// UnchangedCommand returns an error unless the files of the project that a command names are those in the snapshot. Call it right before the
// command runs in the root of the project. A file that has been added since counts as changed. Directories, and files to which it only writes
// by a redirection, tee or touch, do not count.
func (s *Snapshot) UnchangedCommand(command string) error {
	for _, word := range words(written().ReplaceAllString(command, " ")) {
		name := inside(s.Root, word)
		if name == "" {
			continue
		}
		if f := s.File(name); f != nil {
			if err := s.Unchanged(name); err != nil {
				return err
			}
			continue
		}
		info, err := os.Stat(filepath.Join(s.Root, filepath.FromSlash(name)))
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir():
		case err == nil:
			return fmt.Errorf("%s: %w: it is new", name, ErrChanged)
		}
	}
	return nil
}
