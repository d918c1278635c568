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

// maxWords limits the words of one file that may name others.
const maxWords = 10_000

// named returns the words in the commands of a file that may name other files of the project, relative to its root. It is about literal
// words: a script that another script starts is not found, nor one whose name is computed. A file to which the command of a hook only
// writes, such as its log, is named only if a symbolic link leads to it.
func named(root string, f *File) (names []string) {
	texts, scripts := commands(f)
	add := func(name string) {
		if name != "" && name != f.Name && len(names) < maxWords && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, script := range scripts {
		reads, writes := divide(script)
		texts = append(texts, reads)
		for _, name := range targets(root, writes) {
			if linked(root, name) {
				add(name)
			}
		}
	}
	for _, text := range texts {
		for _, word := range words(text) {
			add(inside(root, word))
		}
	}
	return names
}

// commands returns the texts of a file that are commands or parts of them. Scripts are those that are commands of hooks.
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

// eachString calls visit with each string in JSON data and the keys that lead to it. Keys that occur twice are visited twice, because
// readers disagree about which of them counts.
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
				visit(keys, text)
			}
		}
		if last = len(inKey) - 1; last >= 0 {
			inKey[last] = objects[last]
		}
	}
}

// quoted returns the quoted strings of a TOML text. It does not parse TOML: strings in comments count as well.
func quoted(text string) (all []string) {
	for {
		start := strings.IndexAny(text, `"'`)
		if start < 0 || len(all) >= maxWords {
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

// words returns the words of a command: once as a shell divides it, and once with the quotes as separators, because a quoted text may be a
// command itself.
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

// inside returns the path in the project that a word means, or "".
func inside(root, word string) string {
	for _, prefix := range []string{"$CLAUDE_PROJECT_DIR/", "${CLAUDE_PROJECT_DIR}/", "$PWD/", "${PWD}/"} {
		word = strings.TrimPrefix(word, prefix)
	}
	name := filepath.FromSlash(word)
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return ""
		}
		name = rel
	}
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return ""
	}
	if name = filepath.ToSlash(filepath.Clean(name)); name == "." {
		return ""
	}
	return name
}
