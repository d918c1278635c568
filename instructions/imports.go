package instructions

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// The limits of imports.
const (
	maxImports = 5     // how deep documents import each other
	maxTries   = 1_000 // files that are looked at, also those that are there already
)

// source reads documents and those that they import.
type source interface {
	// load reads the text of a document.
	load(ctx context.Context, d *Document) error
	// place returns the path that an import stands for, and why it is not followed if that is not
	// allowed.
	place(by *Document, name string) (file, why string)
}

// reference is an import as a document has it.
type reference struct {
	name string
	line int // in the text
}

// follow adds the documents that a document imports, each with its own behind it. What is there
// already is not added again, so documents may import each other.
func (l *list) follow(ctx context.Context, from source, by *Document, depth int) {
	for _, ref := range imports(by.text) {
		if l.full() {
			return
		}
		line := by.line + ref.line
		file, why := from.place(by, ref.name)
		if why != "" {
			if isFileName(ref.name) {
				l.mistake(by.Path, line, "@%s is not imported: %s", ref.name, why)
			}
			continue
		}
		if l.tried++; l.tried > maxTries {
			if l.tried == maxTries+1 {
				l.mistake(by.Path, line,
					"@%s is not imported, and what follows neither: there are more than %d imports", ref.name, maxTries)
			}
			return
		}
		d := Document{Path: file, Dir: by.Dir, Globs: by.Globs, By: by.Path}
		if err := from.load(ctx, &d); err != nil {
			if isFileName(ref.name) || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotFile) {
				l.mistake(by.Path, line, "@%s is not imported: %s", ref.name, reason(err))
			}
			continue
		}
		switch {
		case d.text == "" || l.has(&d):
		case depth > maxImports:
			l.mistake(by.Path, line, "@%s is not imported: imports go %d files deep", ref.name, maxImports)
		default:
			l.documents = append(l.documents, d)
			l.follow(ctx, from, &d, depth+1)
		}
	}
}

// has reports whether a document with the file or the text of an imported one is there.
func (l *list) has(d *Document) bool {
	return slices.ContainsFunc(l.documents, func(other Document) bool {
		same := other.real == d.real || other.Dir == d.Dir && other.text == d.text
		return same && (len(other.Globs) == 0 || slices.Equal(other.Globs, d.Globs))
	})
}

// reason returns an error without the path, which the mistake has.
func reason(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no such file"
	}
	if of := new(fs.PathError); errors.As(err, &of) {
		err = of.Err
	}
	return err.Error()
}

// place implements source. Imports stay in the project.
func (p *project) place(by *Document, name string) (file, why string) {
	switch {
	case name == "~" || strings.HasPrefix(name, "~/"):
		return "", "a project's document imports files of the project only, not of the home directory"
	case path.IsAbs(name):
		file = path.Clean(name)
	default:
		file = path.Join(path.Dir(by.Path), name)
	}
	if _, ok := relative(p.top, file); !ok {
		return "", "a project's document imports files in " + p.top + " only"
	}
	return file, ""
}

// placesOfAgents lists the hidden directories from which files are imported.
func placesOfAgents() []string {
	return []string{".agents", ".attractor", ".claude", ".codex", ".cursor", ".gemini", ".github"}
}

// isFileName reports whether what follows an @ must have been meant as a file's name. People also
// write @name of persons and packages.
func isFileName(name string) bool {
	for _, prefix := range []string{"./", "../", "~/", "/"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch path.Ext(name) {
	case ".md", ".mdc", ".markdown", ".txt", ".rst", ".adoc":
		return true
	}
	return false
}

// imports returns what a text imports: words that begin with @, outside of code and comments. A
// backslash keeps a space in a name.
func imports(text string) (refs []reference) {
	text = withoutCode(text)
	line := 1
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			line++
		case c == '@' && (i == 0 || strings.IndexByte(" \t\n(", text[i-1]) >= 0):
			name, n := importedName(text[i+1:])
			if name != "" && len(refs) < maxDocuments &&
				!slices.ContainsFunc(refs, func(r reference) bool { return r.name == name }) {
				refs = append(refs, reference{name, line})
			}
			i += n
		}
	}
	return refs
}

// importedName returns the name at the beginning of a text, without the punctuation behind it, and
// how many bytes of the text it takes.
func importedName(text string) (name string, n int) {
	var b strings.Builder
	for ; n < len(text) && strings.IndexByte(" \t\n\r", text[n]) < 0; n++ {
		if text[n] == '\\' && n+1 < len(text) && text[n+1] == ' ' {
			n++
		}
		b.WriteByte(text[n])
	}
	return strings.TrimRight(b.String(), ".,;:!?)\"'*_>"), n
}

// withoutCode returns a Markdown text whose code and HTML comments are blank. Lines keep their
// numbers.
func withoutCode(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimLeft(line, " \t")
		mark := fenceOf(trimmed)
		switch {
		case fence == "" && mark == "":
			b.WriteString(line)
			continue
		case fence == "":
			fence = mark
		case mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) &&
			strings.TrimSpace(trimmed[len(mark):]) == "":
			fence = ""
		}
		b.WriteString(blank(line))
	}
	return withoutSpans(b.String())
}

// fenceOf returns the characters that begin or end a block of code, if a line does.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			if c == "`" && strings.Contains(line[n:], "`") {
				return "" // a span of code
			}
			return line[:n]
		}
	}
	return ""
}

// withoutSpans makes spans of code and comments blank.
func withoutSpans(text string) string {
	var b strings.Builder
	for text != "" {
		at := strings.IndexAny(text, "`<")
		if at < 0 {
			break
		}
		b.WriteString(text[:at])
		text = text[at:]
		n := spanLen(text)
		if n > 0 {
			b.WriteString(blank(text[:n]))
		} else {
			n = max(1, len(text)-len(strings.TrimLeft(text, "`")))
			b.WriteString(text[:n])
		}
		text = text[n:]
	}
	return b.String() + text
}

// spanLen returns the length of the span of code or the comment with which a text begins, 0 if
// there is none. A span ends in its paragraph, a comment at the latest with the text.
func spanLen(text string) int {
	if strings.HasPrefix(text, "<!--") {
		if end := strings.Index(text, "-->"); end >= 0 {
			return end + len("-->")
		}
		return len(text)
	}
	n := len(text) - len(strings.TrimLeft(text, "`"))
	if n == 0 {
		return 0
	}
	rest, _, _ := strings.Cut(text[n:], "\n\n")
	for at := 0; ; {
		next := strings.IndexByte(rest[at:], '`')
		if next < 0 {
			return 0
		}
		at += next
		run := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
		if at += run; run == n {
			return n + at
		}
	}
}

// blank returns a text with tabs, which no name has, for all characters but line breaks.
func blank(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return '\t'
	}, text)
}
