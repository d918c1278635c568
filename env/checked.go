package env

import (
	"context"
	"io/fs"
)

// Checked is a Base for wrappers that look at each change of files before it is made. It also
// forwards all ways to change files, after a call of Check. A wrapper that changes files in its own
// way has both WriteFile and Replace, or both Remove and Delete.
type Checked struct {
	Base
	// Check returns an error if a file must not be changed. The operation is write, remove,
	// replace, delete, symlink, mkdir or chmod. Write, replace and chmod follow a symbolic link. A
	// [Local] calls it again with the path where it makes the change; see [Placed].
	Check func(ctx context.Context, op, name string) error
}

// WriteFile implements Environment.
func (c Checked) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	ctx, err := c.checked(ctx, "write", name)
	if err != nil {
		return err
	}
	return c.Environment.WriteFile(ctx, name, data, perm)
}

// Remove implements Environment.
func (c Checked) Remove(ctx context.Context, name string) error {
	ctx, err := c.checked(ctx, "remove", name)
	if err != nil {
		return err
	}
	return c.Environment.Remove(ctx, name)
}

// Replace implements Replacer if the wrapped environment does.
func (c Checked) Replace(ctx context.Context, name string, was Hash, data []byte, perm fs.FileMode) error {
	ctx, err := c.checked(ctx, "replace", name)
	if err != nil {
		return err
	}
	return replaceBelow(ctx, c.Environment, name, was, data, perm)
}

// Delete implements Replacer if the wrapped environment does.
func (c Checked) Delete(ctx context.Context, name string, was Hash) error {
	ctx, err := c.checked(ctx, "delete", name)
	if err != nil {
		return err
	}
	return deleteBelow(ctx, c.Environment, name, was)
}

// Symlink implements Tree.
func (c Checked) Symlink(ctx context.Context, target, name string) error {
	ctx, err := c.checked(ctx, "symlink", name)
	if err != nil {
		return err
	}
	return TreeOf(c.Environment).Symlink(ctx, target, name)
}

// Mkdir implements Tree.
func (c Checked) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	ctx, err := c.checked(ctx, "mkdir", name)
	if err != nil {
		return err
	}
	return TreeOf(c.Environment).Mkdir(ctx, name, perm)
}

// Chmod implements Tree.
func (c Checked) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	ctx, err := c.checked(ctx, "chmod", name)
	if err != nil {
		return err
	}
	return TreeOf(c.Environment).Chmod(ctx, name, perm)
}

// checked calls Check, and returns a context with which a Local calls it again.
func (c Checked) checked(ctx context.Context, op, name string) (context.Context, error) {
	if err := c.Check(ctx, op, name); err != nil {
		return nil, err
	}
	return Placed(ctx, func(place string) error { return c.Check(ctx, op, place) }), nil
}
