package trust

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// below adds a file that lies in a directory right below the root.
func (w *watcher) below(file string) {
	if slices.Contains(w.imported, file) {
		return
	}
	if len(w.imported) >= maxWatched {
		w.cannot("it names more than %d modules", maxWatched)
		return
	}
	w.imported = append(w.imported, file)
	if w.tops == nil {
		w.tops = directoriesIn(w.root)
	}
	for _, dir := range w.tops {
		if info := w.look(dir, file); info != nil && info.Mode().IsRegular() {
			w.runs(dir, file)
		}
	}
}

// directoriesIn returns the directories in one, and links, which may lead to some.
func directoriesIn(dir string) (dirs []string) {
	list, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer list.Close()                  // it was only read
	found, _ := list.ReadDir(maxListed) // what was read counts
	for _, e := range found {
		if !e.Type().IsRegular() {
			dirs = append(dirs, filepath.Join(dir, e.Name()))
		}
	}
	slices.Sort(dirs)
	return dirs
}

// extensions are those that interpreters add to the name of a file.
var extensions = []string{"", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".pm", ".lua", ".php"}

// existing adds the regular files that a word of a command names, perhaps behind an option or an @.
func (w *watcher) existing(dirs []string, word string, extended bool) {
	names := []string{strings.TrimLeft(word, "-@")}
	if strings.HasPrefix(word, "-") && len(names[0]) > 1 {
		names = append(names, names[0][1:]) // -rFILE
	}
	for _, name := range names {
		for _, extension := range extensions {
			if extension != "" && !extended {
				break
			}
			for _, dir := range dirs {
				if info := w.look(dir, name+extension); info != nil && info.Mode().IsRegular() {
					w.add(&w.running, dir, name+extension)
				}
			}
		}
	}
}

// joined adds the regular file that is named right behind an option of one letter, as in -fFILE.
func (w *watcher) joined(dirs []string, word string) {
	if len(word) < 3 || word[0] != '-' || word[1] == '-' {
		return
	}
	for _, dir := range dirs {
		if info := w.look(dir, word[2:]); info != nil && info.Mode().IsRegular() {
			w.runs(dir, word[2:])
		}
	}
}

// look returns what a word names in a directory, or nil.
func (w *watcher) look(dir, word string) fs.FileInfo {
	const cost = 16 // as many bytes of a script
	name := inside(w.root, dir, word)
	if name == "" || !w.spend(cost) {
		return nil
	}
	info, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(name)))
	if err != nil {
		return nil // most words name no file
	}
	return info
}

// may adds a file that may be run, which need not exist, unless it is a directory.
func (w *watcher) may(dirs []string, word string) {
	for _, dir := range dirs {
		if info := w.look(dir, word); info == nil || !info.IsDir() {
			w.add(&w.running, dir, word)
		}
	}
}

// target adds a file to which a command only writes, if a symbolic link leads to it: the link may
// lead to another file by then.
func (w *watcher) target(dir, word string) {
	if name := inside(w.root, dir, word); name != "" && linked(w.root, name) {
		w.names(dir, word)
	}
}

// pattern adds the files that match a pattern, which may be a name, and the directory in which more
// of them may appear.
func (w *watcher) pattern(dir, pattern string) {
	at := strings.IndexAny(pattern, "*?[")
	if at < 0 {
		w.runs(dir, pattern)
		return
	}
	in := path.Dir(pattern[:at] + "x")
	w.add(&w.running, dir, in)
	if strings.Contains(pattern[at:], "/") {
		w.cannot("the files that match %s in other directories", pattern)
		return
	}
	parent := filepath.Join(dir, in)
	if inside(w.root, w.root, parent) == "" && parent != w.root {
		return
	}
	list, err := os.OpenFile(parent, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe
	if err != nil {
		return // nothing matches
	}
	defer list.Close() // it was only read
	found, _ := list.Readdirnames(maxListed)
	slices.Sort(found)
	for _, name := range found {
		if ok, _ := path.Match(path.Base(pattern), name); ok {
			w.names(parent, name)
		}
	}
}
