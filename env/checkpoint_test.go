//go:build unix

package env_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// snapshot holds a tree. It sketches checkpoints that use only Environment and Tree.
type snapshot struct {
	nodes map[string]entry // by path
}

// entry holds one file.
type entry struct {
	Mode   fs.FileMode
	Target string // for a link
	Data   string
	node   env.Node
	hashed int // how often the content was read
}

// take returns a snapshot of a tree. It reads only contents that have changed since the previous
// snapshot.
func take(ctx context.Context, e env.Environment, before snapshot) (snapshot, error) {
	s := snapshot{nodes: make(map[string]entry)}
	return s, s.walk(ctx, e, ".", before)
}

func (s snapshot) walk(ctx context.Context, e env.Environment, dir string, before snapshot) error {
	list, err := e.ReadDir(ctx, dir)
	if err != nil {
		return err
	}
	for _, info := range list {
		name := path.Join(dir, info.Name)
		node, err := env.TreeOf(e).Lstat(ctx, name)
		if err != nil {
			return err
		}
		k := entry{Mode: node.Mode, node: node}
		switch old, known := before.nodes[name]; {
		case node.Mode.Type() == fs.ModeSymlink:
			k.Target, err = env.TreeOf(e).Readlink(ctx, name)
		case node.Mode.IsDir():
			err = s.walk(ctx, e, name, before)
		case known && old.node == node:
			k = old
		default:
			k.hashed = old.hashed + 1
			k.Data, err = contentOf(ctx, e, name)
		}
		if err != nil {
			return err
		}
		s.nodes[name] = k
	}
	return nil
}

func contentOf(ctx context.Context, e env.Environment, name string) (_ string, err error) {
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err := io.ReadAll(f)
	return string(data), err
}

// restore makes the tree equal to the snapshot.
func (s snapshot) restore(ctx context.Context, e env.Environment) error {
	now, err := take(ctx, e, s)
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(now.nodes))
	slices.Reverse(names) // a directory's entries are removed before it
	for _, name := range names {
		if old, ok := s.nodes[name]; !ok || old.Mode.Type() != now.nodes[name].Mode.Type() ||
			old.Target != now.nodes[name].Target {
			if err := e.Remove(ctx, name); err != nil {
				return err
			}
			delete(now.nodes, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		now, there := now.nodes[name]
		if err := s.nodes[name].put(ctx, e, name, now, there); err != nil {
			return err
		}
	}
	return nil
}

// put restores one file.
func (k entry) put(ctx context.Context, e env.Environment, name string, now entry, there bool) error {
	tree := env.TreeOf(e)
	switch {
	case k.Mode.Type() == fs.ModeSymlink && !there:
		return tree.Symlink(ctx, k.Target, name)
	case k.Mode.Type() == fs.ModeSymlink:
		return nil
	case k.Mode.IsDir() && !there:
		if err := tree.Mkdir(ctx, name, k.Mode); err != nil {
			return err
		}
	case k.Mode.IsRegular() && (!there || k.Data != now.Data):
		if err := e.WriteFile(ctx, name, []byte(k.Data), k.Mode); err != nil {
			return err
		}
	}
	return tree.Chmod(ctx, name, k.Mode)
}

// plain returns the snapshot's contents without data of the file system.
func (s snapshot) plain() map[string]entry {
	plain := make(map[string]entry)
	for name, k := range s.nodes {
		plain[name] = entry{Mode: k.Mode, Target: k.Target, Data: k.Data}
	}
	return plain
}

// A checkpoint needs only Environment and Tree: modes, links, empty directories and deletions are
// restored.
func TestJ9_CheckpointOfALocal(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"src/deep", "empty/inner", "gone"} {
		mkdir(t, filepath.Join(dir, name))
	}
	for _, name := range []string{"src/a.go", "src/deep/b.go", "run.sh", "gone/x", "swap"} {
		write(t, filepath.Join(dir, name), "old "+name)
	}
	if err := errors.Join(os.Chmod(filepath.Join(dir, "run.sh"), 0o755), os.Chmod(filepath.Join(dir, "empty"),
		0o700)); err != nil {
		t.Fatal(err)
	}
	symlink(t, "src/a.go", filepath.Join(dir, "link"))
	symlink(t, "nowhere", filepath.Join(dir, "dangling"))
	symlink(t, "/", filepath.Join(dir, "outside"))
	symlink(t, "src", filepath.Join(dir, "src/loop"))
	e := env.Sub(newLocal(t, filepath.Dir(dir), env.LocalOptions{}), filepath.Base(dir))
	before, err := take(t.Context(), e, snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	mess := `set -e; rm -r gone empty link swap; mkdir swap new; touch new/file swap/inner; chmod 600 run.sh; echo new >src/a.go
		ln -sf src/a.go dangling; ln -s x src/deep/l; rm src/deep/b.go; mkdir src/deep/b.go; ln -s new link; chmod 700 src`
	if result, err := env.Run(t.Context(), e, env.Command{Script: mess}, 0); err != nil || result.Code != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	if err := before.restore(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	after, err := take(t.Context(), e, before)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before.plain(), after.plain(), gocmp.AllowUnexported(entry{}, env.Node{})); diff != "" {
		t.Errorf("the tree differs (-before +after):\n%s", diff)
	}
	again, err := take(t.Context(), e, after)
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range again.nodes {
		if k.hashed != after.nodes[name].hashed {
			t.Errorf("%s was read again although nothing had changed", name)
		}
	}
}

// The same in memory, without links.
func TestJ9_CheckpointInMemory(t *testing.T) {
	e := envtest.NewMemory(map[string]string{"a": "1", "dir/b": "2"})
	if err := errors.Join(e.Mkdir(t.Context(), "empty/inner", 0o700), e.Chmod(t.Context(), "a", 0o755)); err != nil {
		t.Fatal(err)
	}
	before, err := take(t.Context(), e, snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.WriteFile(t.Context(), "a", []byte("3"), 0), e.Remove(t.Context(), "dir/b"),
		e.Remove(t.Context(), "dir"),
		e.Remove(t.Context(), "empty/inner"), e.WriteFile(t.Context(), "dir", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := before.restore(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	after, err := take(t.Context(), e, snapshot{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(before.plain(), after.plain(), gocmp.AllowUnexported(entry{}, env.Node{})); diff != "" {
		t.Errorf("the tree differs (-before +after):\n%s", diff)
	}
}
