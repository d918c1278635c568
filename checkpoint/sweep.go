package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// sweep removes the temporary files that a killed undo may have left beside the files that it was
// writing. A file is taken for one only if it was not recorded before the undo and holds nothing
// but the beginning of a file that is restored beside it.
func (w Workspace) sweep(ctx context.Context, p *Plan) error {
	written := map[string][]Step{} // by directory
	for _, step := range p.Steps {
		if step.Op == OpWrite {
			dir := path.Dir(string(step.Path))
			written[dir] = append(written[dir], step)
		}
	}
	before := newLookup(w.Store, p.Now)
	for dir, steps := range written {
		list, err := w.Env.ReadDir(ctx, nameOf(Name(dir)))
		if ends(err) {
			return err
		} // a directory that cannot be read is told by the steps in it
		for _, info := range list {
			name := path.Join(dir, info.Name)
			if !info.Mode.IsRegular() || !env.IsTemporary(info.Name) {
				continue
			}
			if was, err := before.at(ctx, name); err != nil {
				return err
			} else if was != nil {
				continue
			}
			if err := w.sweepFile(ctx, name, steps); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepFile removes a file that holds the beginning of what one of the steps writes.
func (w Workspace) sweepFile(ctx context.Context, name string, steps []Step) error {
	data, err := readFile(ctx, w.Env, "./"+name,
		slices.MaxFunc(steps, func(a, b Step) int { return cmp.Compare(a.Want.Size, b.Want.Size) }).Want.Size)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours := slices.ContainsFunc(steps, func(s Step) bool {
		if int64(len(data)) > s.Want.Size {
			return false
		}
		whole, err := content(ctx, w.Store, s.Want.Object, s.Want.Size)
		return err == nil && strings.HasPrefix(string(whole), string(data))
	})
	if !ours {
		return nil
	}
	err = env.Delete(ctx, w.Env, "./"+name, env.HashOf(data))
	if errors.Is(err, env.ErrChanged) {
		return nil // it is in use after all
	}
	return err
}
