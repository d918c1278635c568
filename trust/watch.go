package trust

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/rules/shell"
)

// The limits of what a watcher follows. Beyond them it says that it does not see everything.
const (
	maxWatched  = 200       // files of a command
	maxFollowed = 64        // scripts of a command
	maxListed   = 5_000     // entries of a directory that are compared with a pattern
	maxParsed   = 512 << 10 // bytes of scripts, of all commands of a project
)

// Watch says what is known of the files that a command runs or reads. Paths are absolute and have
// no links.
type Watch struct {
	// Runs holds the files that it runs, or may run: programs, scripts and those that scripts
	// start, and the files of task runners. They need not exist.
	Runs []string
	// Names holds what else words of the command name like a path, but for directories. Some programs
	// run it once it exists.
	Names []string
	// Blind says why it may run more, one sentence each.
	Blind []string
}

// Watched returns what is known, without running it, of a command that is started in dir, which is
// in the project's root. The command is a script for the shell, or, with arguments, a program. root
// and dir have no links.
func Watched(root, dir, command string, args ...string) Watch {
	left := maxParsed
	w := watching(root, dir, &left, command, args)
	return Watch{Runs: w.runFiles(), Names: w.namedFiles(), Blind: w.blind}
}

// RunBy returns what [Watched] finds of commands for the shell, within the limits of the hooks of
// one project.
func RunBy(root, dir string, commands []string) (files []string) {
	left := maxParsed
	for _, command := range commands {
		files = append(files, watching(root, dir, &left, command, nil).runFiles()...)
	}
	return files
}

// NamedBy returns the paths that words of commands for the shell may name, given the directory in
// which they start and the home directory. It looks at no files, so they may be those of another
// machine.
func NamedBy(dir, home string, commands []string) (names []string) {
	for _, command := range commands {
		for _, simple := range shell.Parse(command, shell.Place{Dir: dir, Home: home}).Commands {
			for _, word := range simple.Words {
				if !path.IsAbs(word) {
					word = simple.Dir + "/" + word
				}
				names = append(names, path.Clean(word))
			}
		}
	}
	return names
}

// watching returns a watcher that has seen a command.
func watching(root, dir string, left *int, command string, args []string) *watcher {
	w := newWatcher(root, dir, left)
	w.read = func(name string) []byte { return readInside(root, name) }
	w.command(command, args)
	return w
}

// runFiles returns the absolute paths of what is run.
func (w *watcher) runFiles() (files []string) {
	for _, name := range w.running {
		files = append(files, filepath.Join(w.root, filepath.FromSlash(name)))
	}
	return files
}

// namedFiles returns the absolute paths of what words name like a path.
func (w *watcher) namedFiles() (files []string) {
	for _, name := range w.paths {
		file := filepath.Join(w.root, filepath.FromSlash(name))
		if info, err := os.Stat(file); err != nil || !info.IsDir() {
			files = append(files, file)
		}
	}
	return files
}

// watcher finds the files of a project that commands run or read, as the shell would find them: it
// knows cd, variables that are set once, patterns and the files of task runners, and it follows
// scripts of shells into those that they start.
type watcher struct {
	root, dir, home string // of the project, where the commands start, and of the user
	left            *int   // bytes of scripts that may still be parsed
	words           int    // that text has looked up
	// read returns the content of a file of the project, or nil if it has none.
	read func(name string) []byte

	// Relative to the root, with slashes:
	named   []string // files that are named, by a program or otherwise
	paths   []string // of these, what a word with a slash or a dot names
	running []string // those that are run, and directories in which any file may be run

	followed []string // what has been looked into, by absolute paths
	imported []string // files of modules that were looked for below the root
	tops     []string // the directories right below the root, once they were needed
	places   []string // directories in which relative names may mean something, besides that of a command
	blind    []string
}

// newWatcher returns a watcher for commands that start in dir.
func newWatcher(root, dir string, left *int) *watcher {
	home, _ := os.UserHomeDir() // without one, ~ is unclear
	return &watcher{root: root, dir: dir, home: home, left: left}
}

// readInside returns the content of a file of a project, or nil.
func readInside(root, name string) []byte {
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil
	}
	defer in.Close() // it was only read
	f, err := readFile(in, name, maxFile)
	if err != nil {
		return nil
	}
	return f.Data
}

// command adds the files of a command.
func (w *watcher) command(command string, args []string) {
	if args != nil {
		words := append([]string{command}, args...)
		for i := range words {
			for _, name := range []string{"${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"} { // as hooks replace it
				words[i] = strings.ReplaceAll(words[i], name, w.root)
			}
		}
		command = shquote.Words(words...)
	}
	w.script(command, w.dir, true)
}

// text adds the files that the words of a text name.
func (w *watcher) text(text string) {
	for _, word := range words(text) {
		if w.words++; w.words > maxWords {
			w.cannot("it has more than %d words that may name files", maxWords)
			return
		}
		w.names(w.dir, word)
	}
}

// names adds the file that a word means in a directory.
func (w *watcher) names(dir, word string) {
	w.add(&w.named, dir, word)
	if strings.ContainsAny(word, "/.") {
		w.add(&w.paths, dir, word)
	}
}

// runs adds a file that is run, or a directory of which any file may be.
func (w *watcher) runs(dir, word string) {
	w.names(dir, word)
	w.add(&w.running, dir, word)
}

func (w *watcher) add(to *[]string, dir, word string) {
	name := inside(w.root, dir, word)
	if name == "" || slices.Contains(*to, name) {
		return
	}
	if len(*to) >= maxWatched {
		w.cannot("it names more than %d files", maxWatched)
		return
	}
	*to = append(*to, name)
}

// cannot notes why the list of files may be incomplete.
func (w *watcher) cannot(format string, args ...any) {
	if why := fmt.Sprintf(format, args...); !slices.Contains(w.blind, why) && len(w.blind) < maxProblems {
		w.blind = append(w.blind, why)
	}
}

// spend reports whether bytes may still be parsed.
func (w *watcher) spend(bytes int) bool {
	if *w.left -= bytes; *w.left < 0 {
		w.cannot("the scripts of all hooks have more than %d bytes", maxParsed)
	}
	return *w.left >= 0
}

// script adds the files of a script. In the command of a hook (whole) any word may name a file that
// has to be as it was trusted; of a script that it starts, only what the script runs. own is the
// directory of the script.
func (w *watcher) script(text, own string, whole bool) {
	if !w.spend(len(text)) {
		return
	}
	known, items := script.Literals(text)
	if whole {
		for _, name := range slices.Sorted(maps.Keys(known)) {
			w.text(known[name])
		}
	}
	for _, item := range items {
		w.pattern(w.dir, item)
		w.pattern(own, item)
	}
	known["CLAUDE_PROJECT_DIR"], known["PWD"], known["HOME"] = w.root, w.dir, w.home
	left := maxParsed // of values: many uses of a long one would fill the memory
	filled, err := script.Fill(text, func(name string) (script.Value, bool) {
		value, ok := known[name]
		if left -= len(value); left < 0 {
			return script.Value{}, false
		}
		return script.Value{Words: []string{value}, Text: value}, ok
	})
	if err != nil {
		filled = text
	}
	w.searchPath(filled)
	parsed := shell.Parse(filled, shell.Place{Dir: w.dir, Home: w.home})
	if whole && (len(parsed.Commands) == 0 || strings.Contains(text, "<<")) {
		w.text(filled)
		for _, part := range words(filled) { // a shell may read them
			w.existing([]string{w.dir}, part, false)
		}
	}
	if parsed.Unclear != "" {
		w.cannot("%s", parsed.Unclear)
	}
	for i := range parsed.Commands {
		w.simple(&parsed.Commands[i], own, whole)
	}
}

// searchPath adds the directories of the project that a script puts into PATH: any file of theirs may
// be run.
func (w *watcher) searchPath(text string) {
	for _, set := range setPath().FindAllStringSubmatch(text, -1) {
		for _, dir := range strings.Split(strings.Trim(set[1], `"'`), ":") {
			if strings.Contains(dir, "$(") || strings.Contains(dir, "`") {
				dir = tail(dir)
			}
			if dir == "" || dir == "." {
				w.cannot("it finds programs in the directory")
				continue
			}
			w.add(&w.running, w.dir, dir)
		}
	}
}

// setPath matches what sets PATH, as far as that has no blanks.
var setPath = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bPATH=([^\s;&|]+)`) })

// simple adds the files of one command.
func (w *watcher) simple(c *shell.Command, own string, whole bool) {
	dirs := append([]string{c.Dir}, w.places...)
	switch c.Dir {
	case "": // after a cd to a place that is not known
		dirs = append(append([]string{w.root, w.dir}, w.places...), w.above(own)...)
	case w.dir: // a script may have been started elsewhere
		dirs = append(dirs, w.above(own)...)
	}
	reads := c.Computed && len(c.Globs) == 0 && !strings.ContainsAny(c.Words[0], "$`{") // its input
	if c.Hidden || reads {
		w.cannot("it runs a script that is computed: %s", c.Text)
	}
	if slices.Contains(c.Vars, "PATH") || slices.Contains(c.Vars, "CDPATH") {
		w.cannot("it sets PATH or CDPATH")
	}
	for _, name := range c.Reads {
		w.runs(w.root, name)
	}
	for _, name := range c.Writes {
		w.target(w.root, name)
	}
	w.mentioned(c, dirs, own, whole)
	for i, word := range c.Words {
		if slices.Contains(c.Globs, i) && (i == 0 || interpreted(path.Base(c.Words[0]))) {
			w.pattern(dirs[0], word)
		}
	}
	w.program(c, dirs, own)
}

// above returns the directories from one up to the root.
func (w *watcher) above(dir string) (dirs []string) {
	for ; inside(w.root, w.root, dir) != ""; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return append(dirs, w.root)
}

// mentioned adds the files that the words of a command name. Which of them it runs depends on the
// options of its program, so that all that exist count as run, and of an interpreter or a task
// runner those that do not exist, too. A directory holds what the command works on.
func (w *watcher) mentioned(c *shell.Command, dirs []string, own string, whole bool) {
	program := path.Base(c.Words[0])
	runs := runsFiles(program)
	for i, word := range c.Words {
		if (program == "tee" || program == "touch") && i > 0 && !strings.HasPrefix(word, "-") {
			if whole {
				w.target(dirs[0], word)
			}
			continue
		}
		for _, part := range words(word) {
			if whole {
				w.names(dirs[0], part)
				w.joined(dirs, part)
				if interpreted(program) && strings.Contains(part, "/") && path.Ext(part) == "" {
					for _, extension := range extensions[1:] { // as in require('./part')
						w.names(dirs[0], part+extension)
					}
				}
			}
			w.existing(dirs, part, runs)
			if runs && i > 0 && !strings.HasPrefix(part, "-") && !strings.ContainsAny(word, " \t\n$`{") {
				w.may(dirs, part)
			}
		}
		if runs && i > 0 && tail(word) != "" {
			w.starts(word, dirs, own)
		}
		if name, ok := module(c.Words, i); ok {
			top, _, _ := strings.Cut(name, "/")
			for _, dir := range dirs {
				w.runs(dir, name+".py")
				w.runs(dir, top)
				w.entry(dir, name)
			}
			w.below(name + ".py") // PYTHONPATH may name src
		}
	}
}

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
