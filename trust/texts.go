package trust

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// shellExtensions are those of files that shells run, and scriptExtensions those that interpreters
// run as well.
var (
	shellExtensions  = []string{".sh", ".bash", ".zsh", ".ksh", ".fish"}
	scriptExtensions = slices.Concat(shellExtensions, extensions[1:])
)

// maxJoined is the most directories that a script names in which its names are looked up.
const maxJoined = 16

// programsIn adds the programs and scripts that words of a text name in directories, wherever they
// stand in it: a variable or an option may have them run.
func (w *watcher) programsIn(text string, dirs ...string) {
	for _, word := range words(text) {
		word = strings.TrimLeft(word, "-@")
		extension := path.Ext(word)
		isScript := slices.Contains(scriptExtensions, extension)
		if !isScript && (extension != "" || !strings.Contains(word, "/")) {
			continue
		}
		if w.words++; w.words > maxWords {
			w.cannot("it has more than %d words that may name files", maxWords)
			return
		}
		for _, dir := range dirs {
			info := w.look(dir, word)
			if info != nil && info.Mode().IsRegular() && (isScript || info.Mode()&0o111 != 0) {
				w.add(&w.running, dir, word)
			}
		}
	}
}

// namedIn adds the files that a script of another language than that of shells may run, which its
// words name in directories, and in those that it names itself: it may join the two.
func (w *watcher) namedIn(text string, dirs ...string) {
	all, named := words(text), []string(nil)
	for _, word := range all {
		for _, dir := range dirs {
			info := w.look(dir, word)
			dir = filepath.Join(dir, word)
			if info != nil && info.IsDir() && len(named) < maxJoined && !slices.Contains(named, dir) {
				named = append(named, dir)
			}
		}
	}
	for _, word := range all {
		if !strings.ContainsAny(word, "./") {
			continue
		}
		w.existing(dirs, word, false)
		if !slices.Contains(scriptExtensions, path.Ext(word)) {
			continue
		}
		w.may(dirs, word)
		for _, name := range []string{word, path.Base(word)} {
			w.existing(named, name, false)
		}
	}
}

// inDirectory adds the directory in which a computed word names a file, such as tools of
// "$top/tools/$name.py", because any file there may be meant. All scripts of shells, by their
// extensions, ask anyway where a name is computed.
func (w *watcher) inDirectory(word string, dirs []string) {
	word = computedAsStars(word)
	dir := path.Dir(word)
	if extension := path.Ext(word); slices.Contains(shellExtensions, extension) {
		return
	}
	if at := strings.LastIndex(dir, "*"); at >= 0 {
		_, dir, _ = strings.Cut(dir[at:], "/")
	}
	if dir == "" || path.Clean(dir) == "." {
		return
	}
	for _, in := range dirs {
		w.add(&w.running, in, dir)
	}
}

// computedAsStars returns a word without quotes, with a * for each part that a shell computes.
func computedAsStars(word string) string {
	var b strings.Builder
	for depth, i := 0, 0; i < len(word); i++ {
		c := word[i]
		switch {
		case c == '$' && i+1 < len(word) && (word[i+1] == '(' || word[i+1] == '{'):
			depth++
			i++
			b.WriteByte('*')
		case depth > 0 && (c == ')' || c == '}'):
			depth--
		case depth > 0 || c == '"' || c == '\'':
		case c == '$':
			for b.WriteByte('*'); i+1 < len(word) && isNameByte(word[i+1]); {
				i++
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// isNameByte reports whether a byte can be in the name of a variable.
func isNameByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// expanded returns the text of a makefile with the values of its variables in the place of their
// uses, as far as they are short.
func expanded(text string) string {
	const longest, levels = 256, 4
	pairs := []string{"$(MAKE)", "make", "${MAKE}", "make", "$(CURDIR)", ".", "${CURDIR}", "."}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, "=")
		fields := strings.Fields(strings.TrimRight(name, ":?+! \t"))
		if !ok || line[0] == '\t' || len(fields) == 0 || len(value) > longest {
			continue
		}
		name, value = fields[len(fields)-1], strings.TrimSpace(value) // export may stand in front
		pairs = append(pairs, "$("+name+")", value, "${"+name+"}", value)
	}
	replacer := strings.NewReplacer(pairs...)
	for range levels {
		if more := replacer.Replace(text); len(more) <= 4*maxNaming {
			text = more
		}
	}
	return text
}

// blocks returns the texts of several lines in a YAML or TOML file, each as one text: those below a
// key with | or >, and those in three quotes.
func blocks(text string) (list []string) {
	for _, quotes := range []string{`"""`, "'''"} {
		for i, part := range strings.Split(text, quotes) {
			if i%2 == 1 {
				list = append(list, part)
			}
		}
	}
	var below []*strings.Builder
	depth := -1 // of the key; negative outside of a block
	for line := range strings.Lines(text) {
		plain := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " -"))
		switch {
		case depth >= 0 && (plain == "" || indent > depth):
			below[len(below)-1].WriteString(strings.TrimLeft(line, " "))
			continue
		case strings.ContainsAny(plain, "|>") && strings.HasSuffix(strings.TrimRight(plain, "-+|> "), ":"):
			depth, below = indent, append(below, new(strings.Builder))
		default:
			depth = -1
		}
	}
	for _, b := range below {
		list = append(list, b.String())
	}
	return list
}
