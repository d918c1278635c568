package instructions

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/attractor-go/attractor/search"
)

// The limits of the patterns of rules. They bound the time in which a file is compared with all of
// them.
const (
	maxGlobs    = 100   // of a rule
	maxGlob     = 500   // bytes
	maxDepth    = 64    // of a file that is compared
	maxPatterns = 1_000 // of all rules in a directory, with their alternatives
)

// scope takes the front matter off the text of a rule, and sets the files to which the rule
// applies. Its patterns are read line by line and not as YAML, where many that people write, such
// as **/*.ts without quotes, would be mistakes.
func (f *finder) scope(d *Document) {
	matter, body, ok := frontMatter(d.text)
	if !ok {
		return
	}
	restricted := false
	lines := strings.Split(matter, "\n")
	for i := 0; i < len(lines); i++ {
		key, value, isField := strings.Cut(lines[i], ":")
		if !isField || key != strings.TrimLeft(key, " \t-#") {
			continue
		}
		items := []string{value}
		at := i
		for i+1 < len(lines) && isItem(lines[i+1]) {
			i++
			items = append(items, strings.TrimPrefix(strings.TrimLeft(lines[i], " \t"), "-"))
		}
		switch strings.TrimSpace(key) {
		case "paths", "globs":
			restricted = true
			f.globs(d, items, at+2)
		case "description", "name", "title", "alwaysApply":
		default:
			f.mistake(d.Path, d.line+at+2,
				"the field %s is not supported; a rule can have paths, or globs, with the files that it applies to",
				strings.TrimSpace(key))
		}
	}
	d.line += strings.Count(d.text[:len(d.text)-len(body)], "\n")
	d.text = strings.TrimSpace(body)
	if restricted && len(d.Globs) == 0 && d.text != "" {
		f.mistake(d.Path, 0, "it has no usable pattern in paths, so it applies to all files")
	}
}

// isItem reports whether a line is an item of a list, or a comment or empty line between items.
func isItem(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "#") || line == "-" || strings.HasPrefix(line, "- ")
}

// frontMatter divides a text into what is between two lines of --- at its beginning, and the rest.
func frontMatter(text string) (matter, body string, ok bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", text, false
	}
	if body, ok := strings.CutPrefix(rest, "---\n"); ok {
		return "", body, true
	}
	if matter, body, ok = strings.Cut(rest, "\n---\n"); ok {
		return matter, body, true
	}
	if matter, ok = strings.CutSuffix(rest, "\n---"); ok {
		return matter, "", true
	}
	return "", text, false
}

// globs adds the patterns of a field, which begins in a line of the file.
func (f *finder) globs(d *Document, items []string, line int) {
	for i, item := range items {
		for _, glob := range patterns(item) {
			all := alternatives(glob)
			switch {
			case len(d.Globs) == maxGlobs:
				f.mistake(d.Path, d.line+line+i, "only the first %d patterns are used", maxGlobs)
				return
			case all == 0:
				f.mistake(d.Path, d.line+line+i,
					"the pattern %s cannot be used: it has to be a path from %s, such as src/**/*.ts", glob, d.Dir)
			case f.patterns+all > maxPatterns:
				f.mistake(d.Path, d.line+line+i,
					"the pattern %s and those behind it are not used: the rules in %s have more than %d", glob, d.Dir,
					maxPatterns)
				return
			default:
				f.patterns += all
				d.Globs = append(d.Globs, glob)
			}
		}
	}
}

// patterns returns the patterns in a value: one, several with commas between them, or a list in
// brackets.
func patterns(value string) (globs []string) {
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "#") {
		return nil
	}
	if at := strings.Index(value, " #"); at >= 0 && !strings.ContainsAny(value, `"'`) {
		value = value[:at]
	}
	if inner, ok := strings.CutPrefix(value, "["); ok && strings.HasSuffix(inner, "]") {
		value = strings.TrimSuffix(inner, "]")
	}
	depth, start := 0, 0
	for i := 0; i <= len(value); i++ {
		switch {
		case i == len(value) || value[i] == ',' && depth == 0:
			if glob := strings.Trim(value[start:i], " \t\"'"); glob != "" {
				globs = append(globs, relativeGlob(glob))
			}
			start = i + 1
		case value[i] == '{':
			depth++
		case value[i] == '}':
			depth = max(0, depth-1)
		}
	}
	return globs
}

// relativeGlob returns a pattern as a path from its directory. One of a directory stands for all in
// it.
func relativeGlob(glob string) string {
	glob = strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/")
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	return glob
}

// alternatives returns how many patterns without braces a pattern stands for, or 0 if it cannot be
// used.
func alternatives(glob string) int {
	isBetween := func(r rune) bool { return strings.ContainsRune("/{,}", r) }
	if glob == "" || len(glob) > maxGlob || slices.Contains(strings.FieldsFunc(glob, isBetween), "..") {
		return 0
	}
	return search.Alternatives(glob)
}

// appliesTo reports whether a document applies to a file below its directory.
func (d *Document) appliesTo(file string) bool {
	if len(d.Globs) == 0 {
		return true
	}
	rel, ok := relative(d.Dir, file)
	return ok && strings.Count(rel, "/") < maxDepth && slices.ContainsFunc(d.Globs,
		func(glob string) bool { return doublestar.MatchUnvalidated(glob, rel) })
}
