package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/attractor-go/attractor/env"
)

// Write makes the files, links and directories of a tree, given its root, in the working directory
// of e, which is empty and has to be an [env.Tree]. It returns how many it has made. What was not
// recorded is left out, and so is anything named .git, in which a tree from somebody else could
// bring programs that git runs. After an error what was made stays.
func Write(ctx context.Context, s Store, root env.Hash, e env.Environment) (made int, err error) {
	var dirs []dirMode
	tree := env.TreeOf(e)
	err = Walk(ctx, s, root, func(path string, entry Entry) error {
		switch {
		case entry.Recorded() && inWorkspace(path):
		case entry.Mode.IsDir():
			return fs.SkipDir
		default:
			return nil
		}
		name := nameOf(Name(path))
		var err error
		switch entry.Mode.Type() {
		case fs.ModeDir:
			dirs = append(dirs, dirMode{name, entry.Mode.Perm()})
			err = tree.Mkdir(ctx, name, 0o700)
		case fs.ModeSymlink:
			err = tree.Symlink(ctx, entry.Target, name)
		default:
			err = writeObject(ctx, s, &entry, e, name)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", Name(path).Shown(), err)
		}
		made++
		return nil
	})
	if err != nil {
		return made, err
	}
	for _, dir := range slices.Backward(dirs) { // a directory that nobody may write gets its content before
		if err := tree.Chmod(ctx, dir.name, dir.perm); err != nil {
			return made, err
		}
	}
	return made, nil
}

// dirMode is a directory whose permissions are set at the end.
type dirMode struct {
	name string
	perm fs.FileMode
}

// writeObject writes a file with its permissions, whatever the umask.
func writeObject(ctx context.Context, s Store, entry *Entry, e env.Environment, name string) error {
	data, err := content(ctx, s, entry.Object, entry.Size)
	if err != nil {
		return err
	}
	if err := e.WriteFile(ctx, name, data, entry.Mode.Perm()); err != nil {
		return err
	}
	return env.TreeOf(e).Chmod(ctx, name, entry.Mode.Perm())
}
