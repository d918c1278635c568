package envtest

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// fileChecks check reading.
var fileChecks = []check{
	{name: "D1_WorkDirIsAbsolute", run: workDirIsAbsolute},
	{name: "D1_ContentIsRawBytes", run: contentIsRawBytes},
	{name: "D1_MissingIsErrNotExist", run: missingIsErrNotExist},
	{name: "D1_NoAccessIsErrPermission", run: noAccessIsErrPermission, needs: []Feature{Modes}},
	{name: "D1_DirectoryIsNoFile", run: directoryIsNoFile},
	{name: "D1_FIFOIsNoFile", run: fifoIsNoFile, needs: []Feature{FIFOs}},
	{name: "D1_StatDescribes", run: statDescribes},
	{name: "D1_ReadDirIsSorted", run: readDirIsSorted},
	{name: "D1_AbsoluteNames", run: absoluteNames},
	{name: "D1_NamesAreTakenAsTheyAre", run: namesAreTakenAsTheyAre},
	{name: "D1_LinksAreFollowed", run: linksAreFollowed, needs: []Feature{Links}},
	{name: "D1_EndedContext", run: endedContext},
}

func workDirIsAbsolute(t *tester) {
	if dir := t.env.WorkDir(); !path.IsAbs(dir) && !strings.Contains(dir, ":/") {
		t.Errorf("WorkDir %q is not absolute", dir)
	}
	if p := t.env.Platform(); p.OS == "" || p.Arch == "" {
		t.Errorf("Platform %+v lacks OS or Arch", p)
	}
}

func contentIsRawBytes(t *tester) {
	for _, data := range []string{"", "\x00\xff\r\n\n", "no newline", "\ufeffBOM\r\n", allBytes(),
		strings.Repeat("long", 1<<20)} {
		t.put("f", data, 0o644)
		if got := t.read("f"); got != data {
			t.Errorf("content of %d bytes comes back as %d other bytes", len(data), len(got))
		}
	}
}

// allBytes returns a string with every byte.
func allBytes() string {
	var b [256]byte
	for i := range b {
		b[i] = byte(i)
	}
	return string(b[:])
}

func missingIsErrNotExist(t *tester) {
	_, err := t.env.Open(t.ctx, "no")
	t.isError("Open", err, fs.ErrNotExist)
	_, err = t.env.Stat(t.ctx, "no/where")
	t.isError("Stat", err, fs.ErrNotExist)
	_, err = t.env.ReadDir(t.ctx, "absent")
	t.isError("ReadDir", err, fs.ErrNotExist)
	if err == nil || !strings.Contains(err.Error(), "absent") {
		t.Errorf("the error does not name the file: %v", err)
	}
}

// noAccessIsErrPermission takes all permissions away. It proves nothing for users who may read
// everything, such as root.
func noAccessIsErrPermission(t *tester) {
	t.put("secret/f", "x", 0o644)
	t.put("f", "x", 0o644)
	t.arrange("chmod 0 f secret; if cat f; then chmod 755 secret; fi")
	if _, err := t.env.ReadDir(t.ctx, "secret"); err == nil {
		t.Skip("not run: permissions do not hold the environment's user")
	}
	defer t.arrange("chmod 755 secret") // for the cleanup
	_, err := t.env.Open(t.ctx, "f")
	t.isError("Open", err, fs.ErrPermission)
	_, err = t.env.ReadDir(t.ctx, "secret")
	t.isError("ReadDir", err, fs.ErrPermission)
	_, err = t.env.Stat(t.ctx, "secret/f")
	t.isError("Stat", err, fs.ErrPermission)
	if t.lacks[Writing] == "" {
		t.isError("WriteFile", t.env.WriteFile(t.ctx, "secret/g", nil, 0o644), fs.ErrPermission)
		t.isError("Remove", t.env.Remove(t.ctx, "secret/f"), fs.ErrPermission)
	}
}

func directoryIsNoFile(t *tester) {
	t.put("dir/f", "x", 0o644)
	for _, name := range []string{"dir", ".", ""} {
		if f, err := t.env.Open(t.ctx, name); err == nil {
			t.Errorf("Open opened %q: %v", name, f.Close())
		}
	}
	for _, name := range []string{"dir/f", ""} {
		if _, err := t.env.ReadDir(t.ctx, name); err == nil {
			t.Errorf("ReadDir listed %q", name)
		}
	}
	if _, err := t.env.Open(t.ctx, "dir/f/g"); err == nil {
		t.Error("Open opened a file below a file")
	}
}

func fifoIsNoFile(t *tester) {
	t.arrange("mkfifo pipe")
	t.within("Open of a FIFO", func() {
		if f, err := t.env.Open(t.ctx, "pipe"); err == nil {
			t.Errorf("Open opened a FIFO: %v", f.Close())
		}
	})
	t.equal("type", t.stat("pipe").Mode.Type(), fs.ModeNamedPipe)
}

func statDescribes(t *tester) {
	t.put("dir/f", "12345", 0o644)
	f := t.stat("dir/f")
	t.equal("name", f.Name, "f")
	t.equal("size", f.Size, int64(5))
	t.equal("type", f.Mode.Type(), fs.FileMode(0))
	if f.ModTime.IsZero() {
		t.Error("Stat returned no modification time")
	}
	if !t.stat("dir").IsDir() || !t.stat(".").IsDir() {
		t.Error("Stat does not report a directory as one")
	}
	if list := t.list("dir"); len(list) != 1 || !list[0].ModTime.Equal(f.ModTime) || list[0].Size != f.Size ||
		list[0].Mode != f.Mode {
		t.Errorf("Stat returned %+v and ReadDir %+v", f, list)
	}
	t.put("dir/f", "123456", 0o644)
	if later := t.stat("dir/f"); later.Size != 6 || later.ModTime.Before(f.ModTime) {
		t.Errorf("Stat returned %+v after another write, %+v before", later, f)
	}
}

func readDirIsSorted(t *tester) {
	for _, name := range []string{"b", "a", "B", "a.b", ".hidden", "..odd", "z/x"} {
		if t.onWindows() && name == "B" { // the same file as b
			continue
		}
		t.put(name, name, 0o644)
	}
	want := []string{"..odd", ".hidden", "B", "a", "a.b", "b", "z"}
	if t.onWindows() {
		want = []string{"..odd", ".hidden", "a", "a.b", "b", "z"}
	}
	t.sameNames(t.names("."), want...)
	if list := t.list("z"); len(list) != 1 || list[0].Size != 3 || list[0].IsDir() {
		t.Errorf("the entry is described as %+v", list)
	}
	list := t.list(".")
	if last := list[len(list)-1]; !last.IsDir() {
		t.Errorf("a directory is described as %+v", last)
	}
}

func absoluteNames(t *tester) {
	t.put("dir/f", "x", 0o644)
	t.equal("content", t.read(t.absolute("dir/f")), "x")
	t.equal("size", t.stat(t.absolute("dir/f")).Size, int64(1))
	t.sameNames(t.names(t.absolute("dir")), "f")
	t.equal("content by a way with dots", t.read("./dir/../dir//f"), "x")
	if t.lacks[Writing] != "" {
		return
	}
	t.write(t.absolute("dir/g"), "y", 0o644)
	t.equal("content", t.read("dir/g"), "y")
	t.must("Remove", t.env.Remove(t.ctx, t.absolute("dir/g")))
	t.sameNames(t.names("dir"), "f")
}

// namesAreTakenAsTheyAre uses names with a meaning to a shell or to a command's options.
func namesAreTakenAsTheyAre(t *tester) {
	names := []string{"#", "$HOME", "%s", "&", "'single'", "-rf", ";exit", "\u00fcml\u00e4ut", "~tilde"}
	if !t.onWindows() {
		names = append(names, " space ", `"double"`, "*", "?", "\\", "a\\nb", "`id`", "|", "<", ">", "[a-z]")
	}
	for _, name := range names {
		t.part(func(t *tester) {
			t.put("dir/"+name+"/"+name, name, 0o644)
			t.equal("content", t.read("dir/"+name+"/"+name), name)
			t.equal("name", t.stat("dir/"+name).Name, name)
			t.sameNames(t.names("dir/"+name), name)
			t.put(name, name, 0o644) // relative, with no ./ in front
			t.equal("content", t.read(name), name)
			if t.lacks[Writing] == "" {
				t.must("Remove", t.env.Remove(t.ctx, name))
			}
		})
	}
	t.part(func(t *tester) {
		if got := t.names("dir"); len(got) != len(names) {
			t.Errorf("names %q, want %q", got, names)
		}
	})
}

func linksAreFollowed(t *tester) {
	t.put("dir/f", "seven..", 0o644) // no path here has that length
	t.arrange("ln -s dir/f l; ln -s dir d; ln -s nowhere dangling")
	t.equal("size through a link", t.stat("l").Size, int64(7))
	t.equal("name of a link", t.stat("l").Name, "l")
	t.equal("type through a link", t.stat("d").Mode.Type(), fs.ModeDir)
	t.equal("content of a link's target", t.read("l"), "seven..")
	t.equal("content through a link", t.read("d/f"), "seven..")
	t.sameNames(t.names("d"), "f")
	_, err := t.env.Stat(t.ctx, "dangling")
	t.isError("Stat of a link to nowhere", err, fs.ErrNotExist)
	_, err = t.env.Open(t.ctx, "dangling")
	t.isError("Open of a link to nowhere", err, fs.ErrNotExist)
	t.sameNames(t.names("."), "d", "dangling", "dir", "l")
	t.listsLinks()
}

// listsLinks checks that all in the working directory is listed as a link, except the directory
// dir.
func (t *tester) listsLinks() {
	t.Helper()
	for _, info := range t.list(".") {
		if link := info.Mode.Type() == fs.ModeSymlink; link == (info.Name == "dir") {
			t.Errorf("%s is listed with mode %v", info.Name, info.Mode)
		}
	}
}

// endedContext checks that methods do nothing when their context has ended and that they return its
// cause.
func endedContext(t *tester) {
	t.put("dir/f", "x", 0o644)
	ctx, gone := t.ended()
	f, err := t.env.Open(ctx, "dir/f")
	t.isError("Open", err, gone)
	if err == nil {
		err = f.Close()
	}
	_, statErr := t.env.Stat(ctx, "dir/f")
	t.isError("Stat", statErr, gone)
	_, listErr := t.env.ReadDir(ctx, "dir")
	t.isError("ReadDir", listErr, gone)
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Open looked for the file: %v", err)
	}
}
