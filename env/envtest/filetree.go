package envtest

import (
	"errors"
	"io/fs"

	"github.com/attractor-go/attractor/env"
)

// treeChecks check env.Tree, which is optional. They are skipped for environments that do not
// implement it.
var treeChecks = []check{
	{name: "J9_LstatDescribesTheLink", run: lstatDescribesTheLink, needs: []Feature{Links}},
	{name: "J9_LstatSaysWhatStatSays", run: lstatSaysWhatStatSays, needs: []Feature{Writing}},
	{name: "J9_LstatTellsAChange", run: lstatTellsAChange, needs: []Feature{Writing}},
	{name: "J9_ReadlinkGivesTheText", run: readlinkGivesTheText, needs: []Feature{Links}},
	{name: "J9_SymlinkMakesLinks", run: symlinkMakesLinks, needs: []Feature{Writing, Links}},
	{name: "J9_MkdirMakesDirectories", run: mkdirMakesDirectories, needs: []Feature{Writing}},
	{name: "J9_ChmodSetsModes", run: chmodSetsModes, needs: []Feature{Writing, Modes}},
	{name: "J9_ChmodFollowsLinks", run: chmodFollowsLinks, needs: []Feature{Writing, Modes, Links}},
	{name: "O3_DirsShowTheTree", run: dirsShowTheTree, needs: []Feature{Writing, Links}},
	{name: "J9_TreeEndedContext", run: treeEndedContext, needs: []Feature{Writing}},
	{name: "J9_RefusesTrees", run: refusesTrees, unless: Writing},
}

// tree returns the environment's Tree, or skips the check.
func (t *tester) tree() env.Tree {
	t.Helper()
	tree, ok := t.env.(env.Tree)
	if !ok {
		t.Skip("not run: the environment is no env.Tree")
	}
	if _, err := tree.Lstat(t.ctx, "."); errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("not run: %v", err)
	}
	return tree
}

// lstat describes a file, which must exist.
func (t *tester) lstat(name string) env.Node {
	t.Helper()
	node, err := t.tree().Lstat(t.ctx, name)
	t.must("Lstat", err)
	return node
}

func lstatDescribesTheLink(t *tester) {
	t.put("dir/f", "content", 0o644)
	t.arrange("ln -s dir/f l; ln -s dir d; ln -s nowhere dangling")
	for _, name := range []string{"l", "d", "dangling", t.absolute("l")} {
		if node := t.lstat(name); node.Mode.Type() != fs.ModeSymlink {
			t.Errorf("Lstat of the link %s: mode %v", name, node.Mode)
		}
	}
	t.equal("name of a link", t.lstat("./l").Name, "l")
	t.equal("size through a link above", t.lstat("d/f").Size, int64(len("content")))
	_, err := t.tree().Lstat(t.ctx, "absent")
	t.isError("Lstat of what is not there", err, fs.ErrNotExist)
	_, err = t.tree().Lstat(t.ctx, "")
	t.isError("Lstat of an empty name", err, fs.ErrInvalid)
}

func lstatSaysWhatStatSays(t *tester) {
	t.write("dir/f", "content", 0o644)
	for _, name := range []string{"dir/f", "dir", "."} {
		if got, want := t.lstat(name).Info, t.stat(name); got.Name != want.Name || got.Size != want.Size ||
			got.Mode != want.Mode || !got.ModTime.Equal(want.ModTime) {
			t.Errorf("Lstat of %s: %+v, and Stat %+v", name, got, want)
		}
	}
}

// lstatTellsAChange checks that Lstat shows whether a file was replaced or its mode changed.
func lstatTellsAChange(t *tester) {
	t.write("f", "one", 0o644)
	t.write("g", "one", 0o644)
	one, other := t.lstat("f"), t.lstat("g")
	if one.Inode == 0 {
		t.Skip("not run: the environment does not know inodes")
	}
	if one.Inode == other.Inode && one.Device == other.Device {
		t.Error("two files have the same device and inode")
	}
	t.equal("names of a file", one.Links, uint64(1))
	if one != t.lstat("./f") {
		t.Error("Lstat changed for an unchanged file")
	}
	if one.Changed.Before(one.ModTime) {
		t.Errorf("the content changed at %v, and the file before that, at %v", one.ModTime, one.Changed)
	}
	t.must("Chmod", t.tree().Chmod(t.ctx, "f", 0o600))
	if now := t.lstat("f"); now.Inode != one.Inode || now.Device != one.Device || now.Changed.Before(one.Changed) {
		t.Errorf("after Chmod the file is %+v, and was %+v", now, one)
	}
	t.write("f", "two", 0o644) // a new file in the old one's place
	if now := t.lstat("f"); now.Inode == one.Inode && now.Changed.Equal(one.Changed) && now.ModTime.Equal(one.ModTime) {
		t.Errorf("a replaced file looks like the old one: %+v", now)
	}
}

func readlinkGivesTheText(t *tester) {
	tree := t.tree()
	t.put("dir/f", "content", 0o644)
	t.arrange("ln -s dir/../dir//f l; ln -s nowhere dangling; ln -s dir d")
	for name, want := range map[string]string{"l": "dir/../dir//f", "dangling": "nowhere", t.absolute("d"): "dir"} {
		if got, err := tree.Readlink(t.ctx, name); err != nil || got != want {
			t.Errorf("Readlink %s = %q, %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]error{"dir/f": fs.ErrInvalid, "dir": fs.ErrInvalid, "absent": fs.ErrNotExist,
		"": fs.ErrInvalid} {
		_, err := tree.Readlink(t.ctx, name)
		t.isError("Readlink "+name, err, want)
	}
}

func symlinkMakesLinks(t *tester) {
	tree := t.tree()
	t.write("dir/f", "content", 0o644)
	for name, target := range map[string]string{"l": "dir/f", "new/deep/l": "../../dir/f", "dangling": "no/../where",
		"out": "/"} {
		t.must("Symlink "+name, tree.Symlink(t.ctx, target, name))
		if got, err := tree.Readlink(t.ctx, name); err != nil || got != target {
			t.Errorf("Readlink %s = %q, %v, want %q", name, got, err, target)
		}
	}
	t.equal("content through a link", t.read("l"), "content")
	t.equal("content through a link below", t.read("new/deep/l"), "content")
	for _, name := range []string{"l", "dir", "dir/f", "dangling", "."} {
		t.isError("Symlink in the place of "+name, tree.Symlink(t.ctx, "x", name), fs.ErrExist)
	}
	t.isError("Symlink without a name", tree.Symlink(t.ctx, "x", ""), fs.ErrInvalid)
	t.must("Remove", t.env.Remove(t.ctx, "l"))
	t.sameNames(t.names("."), "dangling", "dir", "new", "out")
}

func mkdirMakesDirectories(t *tester) {
	tree := t.tree()
	for _, name := range []string{"d", "a/b/c", t.absolute("e")} {
		t.must("Mkdir "+name, tree.Mkdir(t.ctx, name, 0o700))
		if info := t.stat(name); !info.IsDir() || !t.onWindows() && info.Mode.Perm() != 0o700 {
			t.Errorf("Mkdir %s made %v", name, info.Mode)
		}
		t.sameNames(t.names(name))
	}
	t.write("d/f", "x", 0o644)
	for _, name := range []string{"d", "d/f", "a/b", "."} {
		t.isError("Mkdir in the place of "+name, tree.Mkdir(t.ctx, name, 0o755), fs.ErrExist)
	}
	t.isError("Mkdir without a name", tree.Mkdir(t.ctx, "", 0o755), fs.ErrInvalid)
	if err := tree.Mkdir(t.ctx, "d/f/sub", 0o755); err == nil {
		t.Error("a directory was made in a file")
	}
	t.sameNames(t.names("."), "a", "d", "e")
	t.equal("content", t.read("d/f"), "x")
}

func chmodSetsModes(t *tester) {
	t.needsModes()
	tree := t.tree()
	t.write("dir/f", "content", 0o644)
	for _, perm := range []fs.FileMode{0o755, 0o400, 0o666, 0o600} {
		t.must("Chmod", tree.Chmod(t.ctx, "dir/f", perm))
		t.equal("mode of a file", t.stat("dir/f").Mode, perm)
	}
	t.must("Chmod", tree.Chmod(t.ctx, "dir", fs.ModeSetuid|fs.ModeSticky|0o750))
	t.equal("mode of a directory", t.stat("dir").Mode, fs.ModeDir|0o750)
	t.equal("content", t.read("dir/f"), "content")
	t.isError("Chmod of what is not there", tree.Chmod(t.ctx, "absent", 0o644), fs.ErrNotExist)
	t.isError("Chmod without a name", tree.Chmod(t.ctx, "", 0o644), fs.ErrInvalid)
}

func chmodFollowsLinks(t *tester) {
	t.tree()
	t.write("dir/f", "content", 0o644)
	t.arrange("ln -s dir/f l")
	t.must("Chmod", t.tree().Chmod(t.ctx, "l", 0o600))
	t.equal("mode of the target", t.stat("dir/f").Mode, fs.FileMode(0o600))
}

// dirsShowTheTree checks that an open directory describes its entries as the environment does by
// name.
func dirsShowTheTree(t *tester) {
	t.tree()
	t.write("d/f", "content", 0o640)
	t.write("d/sub/g", "", 0o644)
	t.arrange("ln -s ../d//f d/l; ln -s nowhere d/dangling; ln d/f d/same")
	dir, err := env.OpenDir(t.ctx, t.env, "d")
	t.must("OpenDir", err)
	defer func() { t.isError("Close", dir.Close(), nil) }()
	list, err := dir.List(t.ctx)
	if err != nil || len(list) != 5 {
		t.Fatalf("List: %v, %v", list, err)
	}
	for _, entry := range list {
		node, err := dir.Lstat(t.ctx, entry.Name)
		if want := t.lstat("d/" + entry.Name); err != nil || !sameNode(node, want) || node.Mode.Type() != entry.Type {
			t.Errorf("Lstat of %s in the directory: %+v, %v; by its name %+v; listed as %v", entry.Name, node, err,
				want, entry.Type)
		}
	}
	for name, want := range map[string]string{"l": "../d//f", "dangling": "nowhere"} {
		if got, err := dir.Readlink(t.ctx, name); err != nil || got != want {
			t.Errorf("Readlink %s in the directory = %q, %v, want %q", name, got, err, want)
		}
	}
	_, err = dir.Readlink(t.ctx, "f")
	t.isError("Readlink of a file", err, fs.ErrInvalid)
	_, err = dir.Lstat(t.ctx, "absent")
	t.isError("Lstat of what is not there", err, fs.ErrNotExist)
	_, err = dir.Readlink(t.ctx, "absent")
	t.isError("Readlink of what is not there", err, fs.ErrNotExist)
}

// sameNode reports whether two nodes are equal, whatever the location of their times.
func sameNode(a, b env.Node) bool {
	times := a.ModTime.Equal(b.ModTime) && a.Changed.Equal(b.Changed)
	a.ModTime, a.Changed = b.ModTime, b.Changed
	return times && a == b
}

func treeEndedContext(t *tester) {
	tree := t.tree()
	t.write("f", "x", 0o644)
	ctx, gone := t.ended()
	_, err := tree.Lstat(ctx, "f")
	t.isError("Lstat", err, gone)
	_, err = tree.Readlink(ctx, "f")
	t.isError("Readlink", err, gone)
	t.isError("Mkdir", tree.Mkdir(ctx, "d", 0o755), gone)
	t.isError("Chmod", tree.Chmod(ctx, "f", 0o600), gone)
	if t.lacks[Links] == "" {
		t.isError("Symlink", tree.Symlink(ctx, "f", "l"), gone)
	}
	t.sameNames(t.names("."), "f")
}

func refusesTrees(t *tester) {
	tree := t.tree()
	t.put("f", "x", 0o644)
	mode := t.lstat("f").Mode
	t.isError("Symlink", tree.Symlink(t.ctx, "f", "l"), fs.ErrPermission)
	t.isError("Mkdir", tree.Mkdir(t.ctx, "d", 0o755), fs.ErrPermission)
	t.isError("Chmod", tree.Chmod(t.ctx, "f", 0o777), fs.ErrPermission)
	t.sameNames(t.names("."), "f")
	t.equal("mode", t.stat("f").Mode, mode)
}
