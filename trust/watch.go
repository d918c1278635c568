package trust

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	// Names holds what else words of the command name like a path, but for directories. Some
	// programs run it once it exists.
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
