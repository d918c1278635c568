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
	var dirs []func() error
	tree := env.TreeOf(e)
	err = Walk(ctx, s, root, func(path string, entry Entry) error {
		switch {
		case entry.Recorded() && inWorkspace(path):
		case entry.Mode.IsDir():
			return fs.SkipDir
		default:
			return nil
		}
		name := nameOf(path)
		var err error
		switch {
		case entry.Mode.IsDir():
			err = tree.Mkdir(ctx, name, 0o700)
			dirs = append(dirs, func() error { return tree.Chmod(ctx, name, entry.Mode.Perm()) })
		case entry.isLink():
			err = tree.Symlink(ctx, string(entry.Target), name)
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
	for _, chmod := range slices.Backward(dirs) { // a directory that nobody may write gets its content before
		if err := chmod(); err != nil {
			return made, err
		}
	}
	return made, nil
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
