package trust

import (
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/script"
	"github.com/attractor-go/attractor/rules/shell"
)

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

// searchPath adds the directories of the project that a script puts into PATH: any file of theirs
// may be run.
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
