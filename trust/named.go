package trust

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxWords = 10_000 // of one file or command that are looked up as names of files
	maxKeys  = 64     // of a string in JSON: what starts or allows something is not nested deeper
)

// file adds the files of the project that the commands in a file name, run or read.
func (w *watcher) file(f *File) {
	texts, scripts := commands(f)
	for _, script := range scripts {
		before := len(w.blind)
		w.command(script, nil)
		for i, why := range w.blind[before:] {
			w.blind[before+i] = strings.Join(strings.Fields(script), " ") + ": " + why
		}
	}
	for _, text := range texts {
		w.text(text)
	}
	w.servers(f)
	w.named = slices.DeleteFunc(w.named, func(name string) bool { return name == f.Name })
}

// commands returns the texts of a file that are commands or parts of them. Scripts are those that
// are commands of hooks.
func commands(f *File) (texts, scripts []string) {
	collect := func(keys []string, value string) {
		if has(keys, "hooks") && strings.EqualFold(keys[len(keys)-1], "command") {
			scripts = append(scripts, value)
			return
		}
		texts = append(texts, value)
	}
	base := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
	switch {
	case f.Kind == Script:
	case f.Name == ".mcp.json", f.Name == languageServers, f.Kind == Hooks && strings.HasSuffix(base, ".json"):
		_ = eachString(f.Data, collect) // Effects reports files that are not JSON
	case f.Kind == Settings && strings.HasSuffix(base, ".json"):
		_ = eachString(f.Data, func(keys []string, value string) {
			if has(keys, "hooks") || has(keys, "mcpServers") {
				collect(keys, value)
			}
		})
	case strings.HasSuffix(base, ".toml"):
		texts = quoted(string(f.Data))
	case strings.HasSuffix(base, ".md"):
		texts = frontMatterCommands(string(f.Data))
	}
	return texts, scripts
}

// has reports whether a key is among keys, without regard to case, as encoding/json reads it.
func has(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
}

// eachString calls visit with each string in JSON data and the keys that lead to it, at most the
// outer maxKeys. Keys that occur twice are visited twice, because readers disagree about which of
// them counts.
func eachString(data []byte, visit func(keys []string, value string)) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var keys []string  // of the open objects; "" for an array
	var inKey []bool   // for each open object or array: whether the next token is a key
	var objects []bool // for each open one: whether it is an object
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		last := len(inKey) - 1
		if last >= 0 && inKey[last] && token != json.Delim('}') {
			keys[last], inKey[last] = token.(string), false
			continue
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			object := token == json.Delim('{')
			keys, inKey, objects = append(keys, ""), append(inKey, object), append(objects, object)
			continue
		case json.Delim('}'), json.Delim(']'):
			keys, inKey, objects = keys[:last], inKey[:last], objects[:last]
		default:
			if text, ok := token.(string); ok {
				visit(keys[:min(len(keys), maxKeys)], text)
			}
		}
		if last = len(inKey) - 1; last >= 0 {
			inKey[last] = objects[last]
		}
	}
}

// quoted returns the quoted strings of a TOML text. It does not parse TOML: strings in comments
// count as well.
func quoted(text string) (all []string) {
	for {
		start := strings.IndexAny(text, `"'`)
		if start < 0 {
			return all
		}
		quote := text[start]
		text = text[start+1:]
		end := strings.IndexByte(text, quote)
		if end < 0 {
			return append(all, text)
		}
		all, text = append(all, text[:end]), text[end+1:]
	}
}

// frontMatterCommands returns the lines with a command in the front matter of a Markdown file.
func frontMatterCommands(text string) (lines []string) {
	text, ok := strings.CutPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "---\n")
	if !ok {
		return nil
	}
	head, _, _ := strings.Cut(text, "\n---")
	for line := range strings.Lines(head) {
		if _, value, ok := strings.Cut(line, "command:"); ok {
			lines = append(lines, value)
		}
	}
	return lines
}

// words returns the words of a command: once as a shell divides it, and once with the quotes as
// separators, because a quoted text may be a command itself.
func words(command string) []string {
	all := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\r\n;|&<>()`\"'\\", r) })
	var word strings.Builder
	quote := rune(0)
	flush := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
	}
	for _, r := range command {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		case quote == 0 && strings.ContainsRune(" \t\r\n;|&<>()`", r):
			flush()
		case r != '\\' || filepath.Separator == '\\':
			word.WriteRune(r)
		}
	}
	flush()
	for _, w := range slices.Clone(all) { // --option=file, NAME=file
		if i := strings.LastIndexByte(w, '='); i >= 0 {
			all = append(all, w[i+1:])
		}
	}
	return all
}

// inside returns the path in the project that a word means in a directory, by its name or by where
// that leads, or "".
func inside(root, dir, word string) string {
	for _, variable := range []string{"$CLAUDE_PROJECT_DIR/", "${CLAUDE_PROJECT_DIR}/", "$PWD/", "${PWD}/"} {
		word = strings.TrimPrefix(word, variable)
	}
	name := filepath.FromSlash(word)
	if name == "" || strings.ContainsRune(name, 0) || strings.HasPrefix(name, "~") {
		return ""
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	in := relative(root, name)
	if in == "" { // a link may lead there
		if real, err := filepath.EvalSymlinks(name); err == nil {
			in = relative(root, real)
		}
	}
	return in
}

// relative returns the path below a root, or "" if the name is not there.
func relative(root, name string) string {
	name, err := filepath.Rel(root, name)
	if err != nil || !filepath.IsLocal(name) || name == "." {
		return ""
	}
	return filepath.ToSlash(name)
}
