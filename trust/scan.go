package trust

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
)

// The limits of a snapshot. What goes beyond them is a problem, which names the file.
const (
	maxFiles    = 5_000
	maxFile     = 4 << 20  // bytes of one file
	maxBytes    = 32 << 20 // bytes of all files
	maxDepth    = 32       // directories inside each other
	maxProblems = 50
)

// Place is a file that may start or allow something, or with Tree a directory whose every
// file may.
type Place struct {
	Name string // relative to the root of a project, with slashes
	Kind Kind
	Tree bool
}

// Places lists what may start or allow something. Instructions such as AGENTS.md are not here: they
// are text, which is never trusted.
func Places() []Place {
	return []Place{
		{".mcp.json", Servers, false},
		{".attractor", Settings, true},
		{".claude/settings.json", Settings, false},
		{".claude/settings.local.json", Settings, false},
		{".claude/hooks", Hooks, true},
		{".claude/commands", Commands, true},
		{".claude/skills", Skills, true},
		{".claude/agents", Agents, true},
		{".agents/skills", Skills, true},
		{".agents/commands", Commands, true},
		{".agents/agents", Agents, true},
		{".codex/hooks.json", Hooks, false},
		{".codex/config.toml", Settings, false},
		{".codex/rules", Settings, true},
		{".gemini/settings.json", Settings, false},
		{".gemini/commands", Commands, true},
	}
}

// Scan reads the files of a project that start or allow something: settings, hooks, MCP servers,
// commands, skills, agents, rules, and the files in the project that hooks and servers name. It
// reads each file once. What cannot be read, leads out of the project, is no regular file or
// exceeds a limit is among the Problems of the snapshot. The error is about the directory itself.
func Scan(root string) (*Snapshot, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // it was only read
	s := &scan{Snapshot: &Snapshot{Root: abs}, root: dir, seen: map[string]bool{}, room: maxBytes}
	for _, p := range Places() {
		s.place(p)
	}
	s.started()
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Reason, b.Reason))
	})
	return s.Snapshot, nil
}

// started reads the files that the commands in the files read so far start.
func (s *scan) started() {
	left := maxParsed
	for _, f := range slices.Clone(s.Files) {
		w := newWatcher(s.Root, s.Root, &left)
		w.read = s.content
		w.file(&f)
		for _, name := range w.named {
			s.script(name)
		}
		for _, why := range w.blind {
			s.Unwatched = append(s.Unwatched, Problem{f.Name, why})
		}
	}
}

// content reads a file that a command runs, and returns what is in it.
func (s *scan) content(name string) []byte {
	s.script(name)
	if i := slices.IndexFunc(s.Files, func(f File) bool { return f.Name == name }); i >= 0 {
		return s.Files[i].Data
	}
	return nil
}

// scan holds the state of Scan.
type scan struct {
	*Snapshot
	root *os.Root
	seen map[string]bool
	room int // bytes that may still be read
}

// place reads a place if it exists.
func (s *scan) place(p Place) {
	parent := path.Dir(p.Name)
	if parent != "." && s.seen[parent] {
		return // it has a problem, which has been told
	}
	for _, name := range []string{parent, p.Name} {
		info, err := s.root.Stat(name)
		if err == nil && name == p.Name && !p.Tree && info.IsDir() {
			return // nothing reads a directory as a file, and a sandbox puts one there while commands run
		}
		if err == nil {
			continue
		}
		if _, linked := s.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) || linked == nil {
			s.problem(name, s.explain(name, err))
		}
		return
	}
	if p.Tree {
		s.tree(p.Name, p.Kind, nil)
		return
	}
	s.file(p.Name, p.Kind)
}

// script reads a file that a hook or a server names, if it exists.
func (s *scan) script(name string) {
	if s.seen[name] {
		return
	}
	info, err := s.root.Lstat(name)
	if err != nil {
		// through a link that leads out
		if _, there := os.Stat(filepath.Join(s.Root, filepath.FromSlash(name))); there == nil {
			s.problem(name, s.explain(name, err))
		}
		return // most words name no file
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		if to, err := s.root.Stat(name); err == nil && to.IsDir() {
			return
		}
	}
	if !info.IsDir() {
		s.file(name, Script)
	}
}

// file reads a file.
func (s *scan) file(name string, kind Kind) {
	s.seen[name] = true
	if len(s.Files) >= maxFiles {
		s.problem(name, fmt.Sprintf("there are more than %d files that start or allow something", maxFiles))
		return
	}
	f, err := readFile(s.root, name, min(maxFile, s.room))
	if err == nil && !utf8.ValidString(f.Name+f.Link) {
		err = errors.New("the name, or the target of the symbolic link, is not UTF-8")
	}
	if err != nil {
		s.problem(name, s.explain(name, err))
		return
	}
	s.room -= len(f.Data)
	f.Kind = kindOf(name, kind)
	s.Files = append(s.Files, f)
}

// kindOf returns the kind of a file in a place: in .attractor each directory has its own.
func kindOf(name string, in Kind) Kind {
	for _, k := range []Kind{Commands, Skills, Agents, Hooks} {
		if strings.HasPrefix(name, ".attractor/"+string(k)+"/") {
			return k
		}
	}
	return in
}

// tree reads all files of a directory. above holds the directories that it is in.
func (s *scan) tree(dir string, kind Kind, above []fs.FileInfo) {
	info, err := s.root.Stat(dir)
	if err != nil {
		s.problem(dir, s.explain(dir, err))
		return
	}
	if !info.IsDir() {
		s.file(dir, kind)
		return
	}
	if len(above) >= maxDepth ||
		slices.ContainsFunc(above, func(up fs.FileInfo) bool { return os.SameFile(up, info) }) {
		s.problem(dir, "the directory is inside itself, or too deep")
		return
	}
	if link, err := s.root.Lstat(dir); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		s.file(dir, kind)
	}
	entries, err := readDir(s.root, dir)
	if err != nil {
		s.problem(dir, s.explain(dir, err))
		return
	}
	for _, e := range entries {
		if e == ".git" { // of a repository in this place; git alone uses it
			continue
		}
		if len(s.Files) >= maxFiles || len(s.Problems) >= maxProblems {
			s.problem(dir, fmt.Sprintf("there are more than %d files that start or allow something", maxFiles))
			return
		}
		s.tree(path.Join(dir, e), kind, append(slices.Clip(above), info))
	}
}

// readDir returns the names in a directory in order.
func readDir(root *os.Root, dir string) (names []string, err error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	names, err = f.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("the directory has more than %d files", maxFiles)
	}
	slices.Sort(names)
	return names, nil
}

func (s *scan) problem(name, reason string) {
	s.seen[name] = true
	if len(s.Problems) < maxProblems {
		s.Problems = append(s.Problems, Problem{name, reason})
	}
}

// explain returns why a file cannot be read. It names the place outside to which links lead.
func (s *scan) explain(name string, err error) string {
	to, linkErr := filepath.EvalSymlinks(filepath.Join(s.Root, filepath.FromSlash(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the symbolic link leads to nothing"
	case linkErr == nil && to != s.Root &&
		!strings.HasPrefix(to, strings.TrimSuffix(s.Root, string(filepath.Separator))+string(filepath.Separator)):
		return "the symbolic link leads out of the project, to " + to
	}
	return reason(err)
}

// reason returns an error without the path, which the caller names.
func reason(err error) string {
	if of := new(fs.PathError); errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

// attempts limits how often a file that changes is read.
const attempts = 3

// readFile reads a file, at most limit bytes. A link to a directory is read as a link alone.
func readFile(root *os.Root, name string, limit int) (f File, err error) {
	for range attempts {
		var whole bool
		if f, whole, err = readOnce(root, name, limit); err != nil || whole {
			return f, err
		}
	}
	return f, errors.New("the file changes while it is read")
}

// readOnce reads a file once. It reports whether the file stayed as it was meanwhile.
func readOnce(root *os.Root, name string, limit int) (file File, whole bool, err error) {
	file.Name = name
	link, err := root.Lstat(name)
	if err != nil {
		return file, false, err
	}
	if link.Mode()&fs.ModeSymlink != 0 {
		if file.Link, err = root.Readlink(name); err != nil {
			return file, false, err
		}
	}
	info, err := root.Stat(name)
	if err != nil {
		return file, false, err
	}
	if info.IsDir() && file.Link != "" {
		return file, true, nil
	}
	if !info.Mode().IsRegular() {
		return file, false, fmt.Errorf("it is not a regular file but %s", typeOf(info.Mode()))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the file may be a FIFO by now
	if err != nil {
		return file, false, err
	}
	defer f.Close() // it was only read
	before, err := f.Stat()
	if err != nil {
		return file, false, err
	}
	if !before.Mode().IsRegular() {
		return file, false, nil
	}
	if before.Size() > int64(limit) {
		return file, false, tooLarge(limit)
	}
	if file.Data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1)); err != nil {
		return file, false, err
	}
	if len(file.Data) > limit {
		return file, false, tooLarge(limit)
	}
	after, err := f.Stat()
	file.Executable = before.Mode()&0o111 != 0
	whole = err == nil && after.Size() == int64(len(file.Data)) && after.ModTime().Equal(before.ModTime()) &&
		after.Mode() == before.Mode()
	return file, whole, err
}

func tooLarge(limit int) error {
	if limit < maxFile {
		return fmt.Errorf("the files that start or allow something have more than %d MiB together", maxBytes>>20)
	}
	return fmt.Errorf("the file has more than %d MiB", maxFile>>20)
}

// typeOf names a type of file.
func typeOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something else"
}
