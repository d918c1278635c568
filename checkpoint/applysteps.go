package checkpoint

import (
	"context"
	"errors"
	"io/fs"

	"github.com/attractor-go/attractor/env"
)

// open gives the owner of a directory all permissions.
func (u *undo) open(ctx context.Context, s Step, cur *env.Node) error {
	if cur == nil || !cur.IsDir() || cur.Mode&ownerAll == ownerAll {
		return nil // the steps inside find out
	}
	if cur.Mode.Perm() != s.Was.Mode.Perm() {
		return nil // the step that restores the permissions tells
	}
	return u.tree.Chmod(ctx, nameOf(s.Path), cur.Mode.Perm()|ownerAll)
}

// remove removes what the path held.
func (u *undo) remove(ctx context.Context, s Step, cur *env.Node) error {
	if cur == nil {
		return nil
	}
	if cur.Mode.Type() != s.Was.Mode.Type() {
		return u.already(ctx, s, cur)
	}
	switch {
	case cur.Mode.IsRegular():
		if cur.Mode.Perm() != s.Was.Mode.Perm() {
			return errChanged()
		}
		err := env.Delete(ctx, u.Env, nameOf(s.Path), s.Was.Object)
		if errors.Is(err, env.ErrChanged) {
			return errChanged()
		}
		return err
	case cur.IsDir():
		return u.removeDir(ctx, s, cur)
	}
	target, err := u.tree.Readlink(ctx, nameOf(s.Path))
	switch {
	case err != nil:
		return err
	case Name(target) != s.Was.Target:
		return u.already(ctx, s, cur)
	}
	return u.Env.Remove(ctx, nameOf(s.Path))
}

// already returns nil if the path has what is wanted in the end, which a later step of an earlier
// run made, and otherwise an error.
func (u *undo) already(ctx context.Context, s Step, cur *env.Node) error {
	if s.Want == nil || cur.Mode.Type() != s.Want.Mode.Type() {
		return errChanged()
	}
	switch {
	case cur.IsDir():
		return nil
	case cur.Mode.IsRegular():
		return u.holds(ctx, s.Path, s.Want.Object)
	}
	target, err := u.tree.Readlink(ctx, nameOf(s.Path))
	if err == nil && Name(target) != s.Want.Target {
		err = errChanged()
	}
	return err
}

// holds returns nil if a file has a content.
func (u *undo) holds(ctx context.Context, p Name, object env.Hash) error {
	now, err := env.HashFile(ctx, u.Env, nameOf(p))
	if err == nil && now != object {
		err = errChanged()
	}
	return err
}

// removeDir removes an empty directory.
func (u *undo) removeDir(ctx context.Context, s Step, cur *env.Node) error {
	if mode := cur.Mode.Perm(); mode != s.Was.Mode.Perm() && mode != s.Was.Mode.Perm()|ownerAll {
		return errChanged()
	}
	list, err := u.Env.ReadDir(ctx, nameOf(s.Path))
	switch {
	case err != nil:
		return err
	case len(list) > 0:
		return &keptError{ReasonNotEmpty, namesOf(list)}
	}
	return u.Env.Remove(ctx, nameOf(s.Path))
}

// mkdir makes a directory in which the next steps can make files.
func (u *undo) mkdir(ctx context.Context, s Step, cur *env.Node) error {
	if cur != nil {
		return u.already(ctx, s, cur)
	}
	if err := existing(u.tree.Mkdir(ctx, nameOf(s.Path), s.Want.Mode.Perm()|ownerAll)); err != nil {
		return err
	}
	node, err := u.tree.Lstat(ctx, nameOf(s.Path))
	u.made[s.Path] = node.Mode.Perm()
	return err
}

// existing turns the error for a path that somebody else has made meanwhile into one that leaves it
// alone.
func existing(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return errChanged()
	}
	return err
}

// link makes a symbolic link.
func (u *undo) link(ctx context.Context, s Step, cur *env.Node) error {
	if cur != nil {
		return u.already(ctx, s, cur)
	}
	return existing(u.tree.Symlink(ctx, string(s.Want.Target), nameOf(s.Path)))
}

// write writes a file and then its permissions. The environment compares the content again when it
// writes.
func (u *undo) write(ctx context.Context, s Step, cur *env.Node) error {
	was := env.NoFile
	switch {
	case cur == nil && !s.gone(), cur != nil && !cur.Mode.IsRegular():
		return errChanged()
	case cur != nil:
		if s.gone() || cur.Mode.Perm() != s.Was.Mode.Perm() { // only an earlier run can have written it
			return u.finishFile(ctx, s)
		}
		was = s.Was.Object
	}
	data, err := content(ctx, u.Store, s.Want.Object, s.Want.Size)
	if err != nil {
		return err
	}
	switch err = env.Replace(ctx, u.Env, nameOf(s.Path), was, data, s.Want.Mode.Perm()); {
	case errors.Is(err, env.ErrChanged):
		return u.finishFile(ctx, s)
	case err != nil:
		return err
	}
	node, err := u.tree.Lstat(ctx, nameOf(s.Path))
	switch mode := node.Mode.Perm(); {
	case err != nil || mode == s.Want.Mode.Perm():
		return err
	case was != env.NoFile && mode != s.Was.Mode.Perm() || !node.Mode.IsRegular():
		return errChanged()
	}
	return u.tree.Chmod(ctx, nameOf(s.Path), s.Want.Mode.Perm())
}

// finishFile gives a file that has the wanted content its permissions. Others have changed it if it
// has another content, or permissions that the undo does not give it.
func (u *undo) finishFile(ctx context.Context, s Step) error {
	cur, err := u.lookAt(ctx, s.Path)
	switch {
	case err != nil:
		return err
	case cur == nil || !cur.Mode.IsRegular():
		return errChanged()
	}
	if err := u.holds(ctx, s.Path, s.Want.Object); err != nil {
		return err
	}
	return u.setMode(ctx, s, cur)
}

// chmod sets the permissions of a directory, or of a file whose content is still the same.
func (u *undo) chmod(ctx context.Context, s Step, cur *env.Node) error {
	switch {
	case cur == nil || cur.Mode.Type() != s.Want.Mode.Type():
		return errChanged()
	case cur.Mode.IsRegular():
		return u.finishFile(ctx, s)
	}
	return u.setMode(ctx, s, cur)
}

// setMode sets the permissions if they are those before the undo or those that an earlier step has
// made.
func (u *undo) setMode(ctx context.Context, s Step, cur *env.Node) error {
	mode, want := cur.Mode.Perm(), s.Want.Mode.Perm()
	if mode == want {
		return nil
	}
	if !u.gaveMode(s, mode, cur.IsDir()) {
		return errChanged()
	}
	return u.tree.Chmod(ctx, nameOf(s.Path), want)
}

// gaveMode reports whether a path has the permissions that it had before the undo, or those that
// the undo has given it for the time being.
func (u *undo) gaveMode(s Step, mode fs.FileMode, isDir bool) bool {
	extra := fs.FileMode(0)
	if isDir {
		extra = ownerAll
	}
	if !s.gone() {
		return mode == s.Was.Mode.Perm() || mode == s.Was.Mode.Perm()|extra
	}
	if made, known := u.made[s.Path]; known || !u.resumed {
		return known && mode == made
	}
	return mode&^(s.Want.Mode.Perm()|extra) == 0 // what is made has the wanted permissions less the umask
}
