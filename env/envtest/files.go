package envtest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// fileChecks are the checks of everything but Start.
var fileChecks = []check{
	{"D1_WorkDirIsAbsolute", workDirIsAbsolute},
	{"AC4_2_WriteMakesParents", writeMakesParents},
	{"D1_ContentIsRawBytes", contentIsRawBytes},
	{"D1_ReplaceKeepsMode", replaceKeepsMode},
	{"D1_ReplaceIsAtomic", replaceIsAtomic},
	{"D1_NothingButTheFileIsLeft", nothingButTheFileIsLeft},
	{"D1_MissingIsErrNotExist", missingIsErrNotExist},
	{"D1_DirectoryIsNoFile", directoryIsNoFile},
	{"D1_StatDescribes", statDescribes},
	{"D1_ReadDirIsSorted", readDirIsSorted},
	{"D1_RemoveFileAndEmptyDirectory", removeFileAndEmptyDirectory},
	{"D1_AbsoluteNames", absoluteNames},
	{"D1_EndedContext", endedContext},
}

func workDirIsAbsolute(t *tester) {
	if dir := t.env.WorkDir(); !path.IsAbs(dir) && !strings.Contains(dir, ":/") {
		t.Errorf("WorkDir %q is not absolute", dir)
	}
	if p := t.env.Platform(); p.OS == "" || p.Arch == "" {
		t.Errorf("Platform %+v lacks OS or Arch", p)
	}
}

func writeMakesParents(t *tester) {
	t.write("a/b/c.txt", "deep", 0o644)
	t.equal("content", t.read("a/b/c.txt"), "deep")
	t.sameNames(t.names("a"), "b")
}

func contentIsRawBytes(t *tester) {
	for _, data := range []string{"", "\x00\xff\r\n\n", "no newline", "\ufeffBOM\r\n", strings.Repeat("long", 1<<20)} {
		t.write("f", data, 0o644)
		if got := t.read("f"); got != data {
			t.Errorf("content of %d bytes comes back as %d other bytes", len(data), len(got))
		}
	}
}

func replaceKeepsMode(t *tester) {
	if t.env.Platform().OS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	t.write("s", "one", 0o700)
	t.equal("mode of a new file", t.stat("s").Mode.Perm(), fs.FileMode(0o700))
	t.write("s", "two", 0o600)
	t.equal("mode of a replaced file", t.stat("s").Mode.Perm(), fs.FileMode(0o700))
	t.equal("content", t.read("s"), "two")
}

// replaceIsAtomic holds a file open over its replacement and reads the old content to the end.
func replaceIsAtomic(t *tester) {
	if t.env.Platform().OS == "windows" {
		t.Skip("Windows does not replace open files")
	}
	old := strings.Repeat("old", 1<<16)
	t.write("f", old, 0o644)
	f, err := t.env.Open(t.ctx, "f")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	t.write("f", "new", 0o644)
	var got bytes.Buffer
	if _, err := got.ReadFrom(f); err != nil {
		t.Fatal(err)
	}
	if got.String() != old {
		t.Errorf("a reader saw %d bytes of neither content", got.Len())
	}
	t.equal("content", t.read("f"), "new")
}

func nothingButTheFileIsLeft(t *tester) {
	t.write("f", "x", 0o644)
	t.write("f", "y", 0o644)
	t.write("dir/g", "z", 0o644)
	if err := t.env.WriteFile(t.ctx, "dir", []byte("x"), 0o644); err == nil {
		t.Error("a directory was replaced by a file")
	}
	t.sameNames(t.names("."), "dir", "f")
	t.sameNames(t.names("dir"), "g")
}

func missingIsErrNotExist(t *tester) {
	_, err := t.env.Open(t.ctx, "no")
	t.isError(err, fs.ErrNotExist)
	_, err = t.env.Stat(t.ctx, "no/where")
	t.isError(err, fs.ErrNotExist)
	_, err = t.env.ReadDir(t.ctx, "no")
	t.isError(err, fs.ErrNotExist)
	t.isError(t.env.Remove(t.ctx, "no"), fs.ErrNotExist)
	if err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("the error does not name the file: %v", err)
	}
}

func directoryIsNoFile(t *tester) {
	t.write("dir/f", "x", 0o644)
	if f, err := t.env.Open(t.ctx, "dir"); err == nil {
		t.Error("Open opened a directory", f.Close())
	}
	if err := t.env.WriteFile(t.ctx, "dir", nil, 0o644); err == nil {
		t.Error("WriteFile wrote a directory")
	}
	if err := t.env.WriteFile(t.ctx, "new/", nil, 0o644); err == nil {
		t.Error("WriteFile took a name that ends in a slash")
	}
	if err := t.env.WriteFile(t.ctx, "dir/f/g", nil, 0o644); err == nil {
		t.Error("WriteFile wrote below a file")
	}
	if _, err := t.env.ReadDir(t.ctx, "dir/f"); err == nil {
		t.Error("ReadDir listed a file")
	}
	if _, err := t.env.Open(t.ctx, ""); err == nil {
		t.Error("Open opened the empty name")
	}
	t.equal("content", t.read("dir/f"), "x")
}

func statDescribes(t *tester) {
	t.write("dir/f", "12345", 0o644)
	f := t.stat("dir/f")
	t.equal("name", f.Name, "f")
	t.equal("size", f.Size, int64(5))
	t.equal("type", f.Mode.Type(), fs.FileMode(0))
	if f.ModTime.IsZero() {
		t.Error("no modification time")
	}
	if !t.stat("dir").IsDir() || !t.stat(".").IsDir() {
		t.Error("a directory is not called one")
	}
}

func readDirIsSorted(t *tester) {
	for _, name := range []string{"b", "a", "B", "a.b", ".hidden", "z/x"} {
		t.write(name, name, 0o644)
	}
	t.sameNames(t.names("."), ".hidden", "B", "a", "a.b", "b", "z")
	list, err := t.env.ReadDir(t.ctx, "z")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 1 || list[0].Size != 3 || list[0].IsDir() {
		t.Errorf("the entry is described as %+v", list)
	}
}

func removeFileAndEmptyDirectory(t *tester) {
	t.write("dir/f", "x", 0o644)
	if err := t.env.Remove(t.ctx, "dir"); err == nil {
		t.Fatal("a directory with a file in it was removed")
	}
	t.equal("content", t.read("dir/f"), "x")
	for _, name := range []string{"dir/f", "dir"} {
		if err := t.env.Remove(t.ctx, name); err != nil {
			t.Errorf("Remove %s: %v", name, err)
		}
	}
	t.sameNames(t.names("."))
}

func absoluteNames(t *tester) {
	t.write(t.absolute("dir/f"), "x", 0o644)
	t.equal("content", t.read("dir/f"), "x")
	t.equal("content", t.read(t.absolute("dir/f")), "x")
	t.equal("size", t.stat(t.absolute("dir/f")).Size, int64(1))
	t.sameNames(t.names(t.absolute("dir")), "f")
	if err := t.env.Remove(t.ctx, t.absolute("dir/f")); err != nil {
		t.Error(err)
	}
}

// endedContext expects that no method begins anything for a caller who has gone, and that its reason comes back.
func endedContext(t *tester) {
	t.write("f", "x", 0o644)
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.ctx)
	cancel(gone)
	t.isError(t.env.WriteFile(ctx, "f", []byte("y"), 0o644), gone)
	t.isError(t.env.Remove(ctx, "f"), gone)
	_, err := t.env.Stat(ctx, "f")
	t.isError(err, gone)
	_, err = t.env.Start(ctx, env.Command{Script: "rm f"})
	t.isError(err, gone)
	t.equal("content", t.read("f"), "x")
}
