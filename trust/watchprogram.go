package trust

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/rules/shell"
)

// program adds what a command runs: its program, the script of an interpreter, the file of a task
// runner.
func (w *watcher) program(c *shell.Command, dirs []string, own string) {
	program := c.Words[0]
	name := path.Base(program)
	switch {
	case name == "cd", name == "pushd":
		w.goes(c, own)
	case name == "env": // what it starts follows as a command of its own
		w.elsewhere(c.Words, dirs[0])
	case program == ".", name == "source":
		w.operand(c.Words[1:], dirs, own, "it", "")
	case strings.ContainsAny(program, "$`") && strings.Contains(program, "/"), strings.Contains(program, "/"):
		w.starts(program, dirs, own)
	case strings.ContainsAny(program, "$`{"):
		w.cannot("it runs a program that is computed: %s", program)
	}
	switch {
	case isShellProgram(name) && (c.Wraps || c.Hidden): // its script was read as one
	case isShellProgram(name):
		w.operand(c.Words[1:], dirs, own, "what "+name+" reads", shellOptions)
	case interpreted(name):
		w.operand(c.Words[1:], dirs, own, "what "+name+" runs", "")
	case name == "go" && len(c.Words) > 2 && c.Words[1] == "run":
		w.operand(c.Words[2:], dirs, own, "what go runs", "")
	}
	if name == "xargs" || name == "find" &&
		slices.ContainsFunc(c.Words, func(word string) bool { return strings.HasPrefix(word, "-exec") }) ||
		name == "run-parts" {
		w.found(c.Words[1:], dirs)
		w.cannot("%s may run files that it finds", name)
	}
	w.runner(c, name, dirs)
	if more := launched(c.Words); more != "" {
		w.runner(c, more, dirs)
	}
}

// found adds the directories in which a command looks for files that it runs: any file in them may
// be one.
func (w *watcher) found(words, dirs []string) {
	for _, word := range words {
		for _, dir := range dirs {
			if info := w.look(dir, word); info != nil && info.IsDir() {
				w.add(&w.running, dir, word)
			}
		}
	}
}

// runner adds the files of a task runner. What their recipes start is not known.
func (w *watcher) runner(c *shell.Command, name string, dirs []string) {
	files, more, ok := runnerOf(name)
	if !ok {
		return
	}
	at := append(dirs[:1:1], w.places...)
	if named := directories(c.Words, dirs[0]); named != nil {
		at = named[len(named)-1:]
	}
	for _, dir := range at {
		for _, file := range files {
			w.runs(dir, file)
		}
	}
	if !path.IsAbs(c.Words[0]) || inside(w.root, w.root, c.Words[0]) == "" { // else it is a hook of that name
		w.cannot("%s may run %s", name, more)
	}
}

// elsewhere notes the directories to which the options of a command lead.
func (w *watcher) elsewhere(words []string, dir string) {
	w.places = append(w.places, directories(words, dir)...)
}

// directories returns the directories that the options of a command in dir name as those to work
// in.
func directories(words []string, dir string) (all []string) {
	for i := range words {
		if value, ok := directoryOption(words, i); ok {
			if !filepath.IsAbs(value) {
				value = filepath.Join(dir, value)
			}
			all = append(all, value)
		}
	}
	return all
}

// directoryOption returns the directory that a word of make and its like names as the one to work
// in.
func directoryOption(words []string, i int) (dir string, ok bool) {
	for _, option := range []string{"-C", "--directory", "--prefix", "--cwd", "--working-directory", "--chdir"} {
		value, has := strings.CutPrefix(words[i], option)
		switch {
		case !has:
		case value == "" && i+1 < len(words):
			return words[i+1], true
		case value != "":
			return strings.TrimPrefix(value, "="), true
		}
	}
	return "", false
}

// goes notes the directories to which a cd may lead whose argument is computed, or that starts
// where one has led.
func (w *watcher) goes(c *shell.Command, own string) {
	for _, word := range c.Words[1:] {
		end := tail(word)
		if c.Dir == "" && !strings.ContainsAny(word, "$`") && !strings.HasPrefix(word, "-") {
			end = word
		}
		if end != "" && !path.IsAbs(end) {
			for _, dir := range append(w.above(own), w.dir) {
				w.places = append(w.places, filepath.Join(dir, end))
			}
		}
		if c.Words[0] == "pushd" || strings.HasPrefix(c.Words[1], "-") && word[:min(len(word), 1)] != "-" {
			w.places = append(w.places, filepath.Join(w.dir, word), filepath.Join(own, word))
		}
	}
}

// operand adds the file, or the directory, that is the first argument of an interpreter. Behind an
// option that may have a value, which is one with other characters than those in plain, it is not
// known which one that is. what is the subject of the sentence that says so.
func (w *watcher) operand(args, dirs []string, own, what, plain string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--", word == "run":
		case word != "-" && strings.Trim(word, plain) == "":
			if strings.ContainsAny(word, "oO") {
				i++
			}
		case strings.HasPrefix(word, "-"):
			w.cannot("%s may load files of the project", what)
			w.first(args[i+1:], dirs, own)
			return
		default:
			w.starts(word, dirs, own)
			for _, dir := range dirs {
				w.entry(dir, word)
			}
			return
		}
	}
	w.cannot("%s may load files of the project", what)
}

// first adds the first file that there is among words.
func (w *watcher) first(words, dirs []string, own string) {
	for _, word := range words {
		for _, dir := range dirs {
			if info := w.look(dir, word); info != nil && info.Mode().IsRegular() {
				w.starts(word, dirs, own)
				return
			}
			w.entry(dir, word)
		}
	}
}

// entry adds the files with which interpreters begin if a word names a directory, or a file without
// its extension.
func (w *watcher) entry(dir, word string) {
	for _, extension := range extensions[1:] {
		if info := w.look(dir, word+extension); info != nil && info.Mode().IsRegular() {
			w.runs(dir, word+extension)
			w.cannot("%s may load or start others", word)
		}
	}
	at := word
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if at = filepath.Clean(at); at != w.root && inside(w.root, w.root, at) == "" {
		return
	}
	if info, err := os.Stat(at); err != nil || !info.IsDir() {
		return
	}
	w.cannot("it may run any file of the directory %s", word)
	for _, name := range []string{"package.json", "index.js", "index.mjs", "index.cjs", "index.ts", "__init__.py",
		"__main__.py"} {
		w.runs(at, name)
	}
	var manifest struct{ Main string }
	name := relative(w.root, filepath.Join(at, "package.json"))
	if data := w.read(name); name == "" || json.Unmarshal(data, &manifest) != nil || manifest.Main == "" {
		return
	}
	for _, end := range []string{"", ".js", "/index.js"} {
		w.runs(at, manifest.Main+end)
	}
}

// starts adds a file that is run, and follows it if it is a script of a shell. Of a word that is
// computed, the literal end counts.
func (w *watcher) starts(word string, dirs []string, own string) {
	if strings.ContainsAny(word, "$`{") || strings.HasPrefix(word, "%") { // git puts names in place of %f
		end := tail(word)
		if end == "" {
			w.cannot("it runs a file that is computed: %s", word)
			return
		}
		w.cannot("it runs a file that is computed: %s", word)
		dirs = append(slices.Clone(dirs), w.above(own)...)
		word = end
	}
	for _, dir := range dirs {
		w.runs(dir, word)
		w.follow(dir, word)
	}
}

// follow looks into a file that is run.
func (w *watcher) follow(dir, word string) {
	file := word
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	if slices.Contains(w.followed, file) {
		return
	}
	if len(w.followed) >= maxFollowed {
		w.cannot("it runs more than %d scripts", maxFollowed)
		return
	}
	w.followed = append(w.followed, file)
	name := inside(w.root, dir, word)
	var data []byte
	if name != "" {
		data = w.read(name)
	} else {
		data = readInside(filepath.Dir(file), filepath.Base(file))
	}
	switch {
	case data == nil:
	case isShell(file, data):
		w.script(string(data), filepath.Dir(file), false)
	case name != "":
		w.cannot("%s may load or start others", name)
	}
}

// isShell reports whether a file is a script for a shell.
func isShell(name string, data []byte) bool {
	line, _, _ := strings.Cut(string(data[:min(len(data), 200)]), "\n")
	if command, ok := strings.CutPrefix(line, "#!"); ok {
		fields := strings.Fields(command)
		return slices.ContainsFunc(fields, func(f string) bool { return strings.HasSuffix(path.Base(f), "sh") })
	}
	ext := path.Ext(name)
	return strings.HasSuffix(ext, "sh") || ext == "" && isText(data)
}

// tail returns the literal end of a word that begins with something computed, such as lib.sh of
// "$(dirname "$0")"/lib.sh, or "".
func tail(word string) string {
	if !strings.ContainsAny(word, "$`") {
		return ""
	}
	word = strings.NewReplacer(`"`, "", `'`, "").Replace(word)
	at := strings.LastIndexFunc(word, func(r rune) bool { return strings.ContainsRune("$`)} ", r) })
	_, end, _ := strings.Cut(word[at+1:], "/")
	return end
}
