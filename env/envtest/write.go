package envtest

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// writeChecks check WriteFile and Remove.
var writeChecks = []check{
	{name: "AC4_2_WriteMakesParents", run: writeMakesParents, needs: []Feature{Writing}},
	{name: "D1_ReplaceKeepsMode", run: replaceKeepsMode, needs: []Feature{Writing, Modes}},
	{name: "D1_ReplaceIsAtomic", run: replaceIsAtomic, needs: []Feature{Writing}},
	{name: "D1_OnlyFilesAreWritten", run: onlyFilesAreWritten, needs: []Feature{Writing}},
	{name: "D1_LinksAreWrittenThrough", run: linksAreWrittenThrough, needs: []Feature{Writing, Links}},
	{name: "D1_RemoveFileAndEmptyDirectory", run: removeFileAndEmptyDirectory, needs: []Feature{Writing}},
	{name: "D1_RemoveMissing", run: removeMissing, needs: []Feature{Writing}},
	{name: "D1_RemoveLink", run: removeLink, needs: []Feature{Writing, Links}},
	{name: "D1_DataIsTheCallers", run: dataIsTheCallers, needs: []Feature{Writing}},
	{name: "D1_ConcurrentUse", run: concurrentUse, needs: []Feature{Writing}},
	{name: "D1_WritesEndedContext", run: writesEndedContext, needs: []Feature{Writing}},
	{name: "D7_RefusesWriting", run: refusesWriting, unless: Writing},
}

// write writes a file, which must succeed.
func (t *tester) write(name, data string, perm fs.FileMode) {
	t.Helper()
	t.must("WriteFile", t.env.WriteFile(t.ctx, name, []byte(data), perm))
}

func writeMakesParents(t *tester) {
	t.write("a/b/c.txt", "deep", 0o644)
	t.equal("content", t.read("a/b/c.txt"), "deep")
	t.sameNames(t.names("a"), "b")
}

func replaceKeepsMode(t *tester) {
	t.needsModes()
	t.write("s", "one", 0o700)
	t.equal("mode of a new file", t.stat("s").Mode.Perm(), fs.FileMode(0o700))
	t.write("s", "two", 0o600)
	t.equal("mode of a replaced file", t.stat("s").Mode.Perm(), fs.FileMode(0o700))
	t.equal("content", t.read("s"), "two")
}

// replaceIsAtomic holds a file open while it is replaced and reads the old content to the end.
func replaceIsAtomic(t *tester) {
	if t.onWindows() {
		t.Skip("not run: Windows does not replace open files")
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

// onlyFilesAreWritten checks that nothing but files is written, and nothing beside them, also by a
// write that fails.
func onlyFilesAreWritten(t *tester) {
	for _, data := range []string{"old", "x"} {
		t.write("f", data, 0o644)
		t.write("dir/f", data, 0o644)
	}
	for _, name := range []string{"dir", ".", "", "new/", "dir/f/g"} {
		if err := t.env.WriteFile(t.ctx, name, nil, 0o644); err == nil {
			t.Errorf("WriteFile wrote %q", name)
		}
	}
	t.equal("content", t.read("dir/f"), "x")
	t.sameNames(t.names("."), "dir", "f")
	t.sameNames(t.names("dir"), "f")
}

func linksAreWrittenThrough(t *tester) {
	t.write("dir/f", "old", 0o644)
	t.arrange("ln -s dir/f l; ln -s l ll; ln -s dir d; ln -s dir/new dangling")
	t.write("l", "new", 0o644)
	t.equal("target written through a link", t.read("dir/f"), "new")
	t.write("ll", "newer", 0o644)
	t.equal("target written through two links", t.read("dir/f"), "newer")
	t.write("d/g", "g", 0o644)
	t.equal("file written below a link", t.read("dir/g"), "g")
	t.write("dangling", "made", 0o644)
	t.equal("target that was missing", t.read("dir/new"), "made")
	t.listsLinks()
}

func removeFileAndEmptyDirectory(t *tester) {
	t.write("dir/f", "x", 0o644)
	if err := t.env.Remove(t.ctx, "dir"); err == nil {
		t.Error("a directory with a file in it was removed")
	}
	t.sameNames(t.names("dir"), "f")
	for _, name := range []string{"dir/f", "dir"} {
		t.must("Remove "+name, t.env.Remove(t.ctx, name))
	}
	t.sameNames(t.names("."))
}

func removeMissing(t *tester) {
	err := t.env.Remove(t.ctx, "absent")
	t.isError("Remove", err, fs.ErrNotExist)
	if err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("the error does not name the file: %v", err)
	}
	t.isError("Remove below what is not there", t.env.Remove(t.ctx, "no/where"), fs.ErrNotExist)
}

func removeLink(t *tester) {
	t.write("dir/f", "x", 0o644)
	t.arrange("ln -s dir/f l; ln -s dir d; ln -s nowhere dangling")
	for _, name := range []string{"l", "d", "dangling"} {
		t.must("Remove "+name, t.env.Remove(t.ctx, name))
	}
	t.sameNames(t.names("."), "dir")
	t.equal("target after the link was removed", t.read("dir/f"), "x")
}

// dataIsTheCallers changes the buffer after it was written.
func dataIsTheCallers(t *tester) {
	data := []byte("before")
	if err := t.env.WriteFile(t.ctx, "f", data, 0o644); err != nil {
		t.Fatal(err)
	}
	copy(data, "after!")
	t.equal("content", t.read("f"), "before")
}

// concurrentUse writes, reads and lists the same files concurrently. A reader must see the whole of
// one content.
func concurrentUse(t *tester) {
	contents := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<10), "c"}
	t.write("shared", contents[0], 0o644)
	var writing, reading sync.WaitGroup
	written := make(chan struct{}) // readers read for as long as somebody writes
	for i, content := range contents {
		writing.Go(func() {
			own := "dir/" + content[:1]
			for range 5 {
				if err := t.env.WriteFile(t.ctx, "shared", []byte(content), 0o644); err != nil && !t.onWindows() {
					t.Errorf("WriteFile: %v", err)
				}
				if err := t.env.WriteFile(t.ctx, own, []byte{byte(i)}, 0o644); err != nil {
					t.Errorf("WriteFile: %v", err)
				}
				if _, err := t.env.ReadDir(t.ctx, "dir"); err != nil {
					t.Errorf("ReadDir: %v", err)
				}
				if err := t.env.Remove(t.ctx, own); err != nil {
					t.Errorf("Remove: %v", err)
				}
			}
		})
		reading.Go(func() {
			for isOpen(written) {
				f, err := t.env.Open(t.ctx, "shared")
				if err != nil {
					t.Errorf("Open: %v", err)
					return
				}
				data, err := io.ReadAll(f)
				if !slices.Contains(contents, string(data)) || err != nil || f.Close() != nil {
					t.Errorf("a reader saw %d bytes of no content, %v", len(data), err)
				}
			}
		})
	}
	writing.Wait()
	close(written)
	reading.Wait()
}

// isOpen reports whether a channel is not closed. Nothing is sent on it.
func isOpen(c <-chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

func writesEndedContext(t *tester) {
	t.write("f", "x", 0o644)
	ctx, gone := t.ended()
	t.isError("WriteFile", t.env.WriteFile(ctx, "f", []byte("y"), 0o644), gone)
	t.isError("Remove", t.env.Remove(ctx, "f"), gone)
	t.equal("content", t.read("f"), "x")
}

func refusesWriting(t *tester) {
	t.put("f", "x", 0o644)
	t.isError("WriteFile", t.env.WriteFile(t.ctx, "f", []byte("y"), 0o644), fs.ErrPermission)
	t.isError("WriteFile of a new file", t.env.WriteFile(t.ctx, "g", nil, 0o644), fs.ErrPermission)
	t.isError("Remove", t.env.Remove(t.ctx, "f"), fs.ErrPermission)
	t.sameNames(t.names("."), "f")
	t.equal("content", t.read("f"), "x")
}
