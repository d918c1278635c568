package shellenv

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Lstat implements env.Tree. It returns no more details than Stat.
func (e *Env) Lstat(ctx context.Context, name string) (env.Node, error) {
	list, err := e.infos(ctx, "lstat", name, `[ -e "$f" ] || [ -L "$f" ] || absent "$f"
$stat "$format" "$f"`)
	if err != nil {
		return env.Node{}, err
	}
	list[0].Name = path.Base(path.Join(e.dir, name))
	return env.Node{Info: list[0]}, nil
}

// Readlink implements env.Tree.
func (e *Env) Readlink(ctx context.Context, name string) (string, error) {
	out, err := e.run(ctx, "readlink", name, `[ -L "$f" ] || { [ -e "$f" ] || absent "$f"; exit 43; }
readlink "$f"`, nil)
	return strings.TrimSuffix(out, "\n"), err
}

// makeScript makes the parents of f, which must not exist.
const makeScript = `! { [ -e "$f" ] || [ -L "$f" ]; } || exit 48
d=${f%/*}/
mkdir -p "$d" || { [ -e "$d" ] && exit 42 || exit 43; }
`

// Symlink implements env.Tree.
func (e *Env) Symlink(ctx context.Context, target, name string) error {
	_, err := e.run(ctx, "symlink", name, makeScript+"ln -s -- "+shquote.Words(target)+` "$f" || exit 42`, nil)
	return err
}

// Mkdir implements env.Tree.
func (e *Env) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	if end := strings.TrimRight(name, "/"); end != "" {
		name = end
	}
	_, err := e.run(ctx, "mkdir", name, makeScript+fmt.Sprintf(`mkdir -m %o "$f" || exit 42`, perm.Perm()), nil)
	return err
}

// Chmod implements env.Tree.
func (e *Env) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	_, err := e.run(ctx, "chmod", name, fmt.Sprintf(`[ -e "$f" ] || absent "$f"
chmod %o "$f" || exit 42`, perm.Perm()), nil)
	return err
}
