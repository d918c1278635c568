package instructions

import (
	"path"
	"slices"
	"strings"
)

// The limits of the patterns of rules. They bound the time in which a file is compared with all of
// them.
const (
	maxGlobs        = 100   // of a rule
	maxGlob         = 500   // bytes
	maxElems        = 32    // of a pattern
	maxDepth        = 64    // of a file that is compared
	maxAlternatives = 64    // of a pattern with braces
	maxPatterns     = 1_000 // of all rules in a directory, with their alternatives
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
			case len(all) == 0:
				f.mistake(d.Path, d.line+line+i,
					"the pattern %s cannot be used: it has to be a path from %s, such as src/**/*.ts", glob, d.Dir)
			case f.patterns+len(all) > maxPatterns:
				f.mistake(d.Path, d.line+line+i,
					"the pattern %s and those behind it are not used: the rules in %s have more than %d", glob, d.Dir,
					maxPatterns)
				return
			default:
				f.patterns += len(all)
				d.Globs, d.patterns = append(d.Globs, glob), append(d.patterns, all...)
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

// alternatives returns the elements of each alternative of a pattern, or nil if it is invalid or
// too long.
func alternatives(glob string) (all [][]string) {
	if glob == "" || len(glob) > maxGlob {
		return nil
	}
	for _, g := range expand(glob) {
		elems := strings.Split(g, "/")
		invalid := slices.ContainsFunc(elems, func(elem string) bool {
			_, err := path.Match(elem, "")
			return err != nil || elem == ".."
		})
		if all = append(all, elems); invalid || len(elems) > maxElems || len(all) > maxAlternatives {
			return nil
		}
	}
	return all
}

// expand returns the alternatives of a pattern with braces, and stops when there are more than
// maxAlternatives.
func expand(glob string) []string {
	all := []string{glob}
	for i := 0; i < len(all) && len(all) <= maxAlternatives; {
		open, end := braces(all[i])
		if end < 0 {
			i++
			continue
		}
		before, after := all[i][:open], all[i][end+1:]
		var more []string
		for alternative := range strings.SplitSeq(all[i][open+1:end], ",") {
			more = append(more, before+alternative+after)
		}
		all = slices.Replace(all, i, i+1, more...)
	}
	return all
}

// braces returns the place of the first innermost pair of braces, -1 if there is none.
func braces(glob string) (open, end int) {
	end = strings.IndexByte(glob, '}')
	if end < 0 {
		return -1, -1
	}
	if open = strings.LastIndexByte(glob[:end], '{'); open < 0 {
		return -1, -1
	}
	return open, end
}

// appliesTo reports whether a document applies to a file below its directory.
func (d *Document) appliesTo(file string) bool {
	if len(d.Globs) == 0 {
		return true
	}
	rel, ok := relative(d.Dir, file)
	elems := strings.Split(rel, "/")
	return ok && len(elems) <= maxDepth && slices.ContainsFunc(d.patterns,
		func(p []string) bool { return matches(p, elems) })
}

// matches reports whether the elements of a pattern match those of a path. An element ** matches
// any number of them. The time is that of a table of both, whatever the pattern.
func matches(glob, elems []string) bool {
	row := make([]bool, len(elems)+1) // whether what was seen of the pattern matches the first i elements
	row[0] = true
	for _, g := range glob {
		if g == "**" {
			for i := 1; i < len(row); i++ {
				row[i] = row[i] || row[i-1]
			}
			continue
		}
		for i := len(row) - 1; i > 0; i-- {
			ok := false
			if row[i-1] {
				ok, _ = path.Match(g, elems[i-1]) // the pattern is valid
			}
			row[i] = ok
		}
		row[0] = false
	}
	return row[len(elems)]
}
