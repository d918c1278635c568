package shell

import (
	"path"
	"slices"
	"strings"
)

// maxDirs is the number of directories that are considered for one command.
const maxDirs = 4

// dirs holds the directories in which a command may run. An empty name stands for an unknown one.
type dirs []string

// union returns the directories of both.
func (d dirs) union(other dirs) dirs {
	all := slices.Clone(d)
	for _, dir := range other {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	if slices.Contains(all, "") || len(all) > maxDirs {
		return dirs{""}
	}
	return all
}

// flow says in which directories the shell may be after a command that succeeded, and after one
// that failed.
type flow struct{ ok, failed dirs }

func (f flow) both() dirs { return f.ok.union(f.failed) }

// stays returns the flow of a command that does not change the directory.
func stays(d dirs) flow { return flow{d, d} }

// anywhere returns the flow of a command that may change to any directory.
func anywhere() flow { return stays(dirs{""}) }

// cd returns where the command cd leads.
func (w *walker) cd(args []word, in scope) flow {
	d := in.dirs
	for len(args) > 0 && (args[0].text == "-L" || args[0].text == "--") {
		args = args[1:]
	}
	target := w.home(in)
	switch {
	case len(args) > 1, len(args) == 1 && (!isLiteral(args[0]) || strings.IndexAny(args[0].text, "-+") == 0):
		return flow{dirs{""}, d}
	case len(args) == 1:
		target = args[0].text
	}
	if target == "" || slices.Contains(w.assigned, "CDPATH") || slices.Contains(in.vars, "CDPATH") {
		return flow{dirs{""}, d}
	}
	var ok dirs
	for _, dir := range d {
		ok = ok.union(w.enter(dir, target))
	}
	return flow{ok, d}
}

// enter returns the directories to which cd may lead. Shells simplify .. in a name before they look
// at links, programs do not.
func (w *walker) enter(dir, target string) dirs {
	if !path.IsAbs(target) {
		if dir == "" {
			return dirs{""}
		}
		// no name that the script gave is left
		for within(w.at.Dir, dir) && (target == ".." || strings.HasPrefix(target, "../")) {
			dir, target = path.Dir(dir), strings.TrimPrefix(strings.TrimPrefix(target, ".."), "/")
		}
		target = dir + "/" + target
	}
	if len(target) > MaxName {
		return dirs{""}
	}
	return dirs{path.Clean(target)}.union(dirs{clean(target)})
}

// within reports whether an absolute name is in a directory or is the directory.
func within(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}

// clean simplifies an absolute path, unless it has an element .. that a link could make lead
// elsewhere.
func clean(name string) string {
	if strings.Contains(name+"/", "/../") {
		return name
	}
	return path.Clean(name)
}

// absolute returns the absolute path of a name in a directory. It reports false if the directory is
// needed and unknown, or too long.
func absolute(dir, name string) (string, bool) {
	if path.IsAbs(name) {
		return clean(name), true
	}
	return clean(dir + "/" + name), dir != "" && len(dir) <= MaxName
}
