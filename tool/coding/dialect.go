package coding

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// Dialect makes the tools for a model family that knows them by other names: what their descriptions and results say is in its words. The zero
// value is this project's own.
type Dialect struct {
	// Words has the dialect's names, by this project's: of a tool, such as "shell", or of a parameter, such as "shell.timeout_ms". A name that
	// is not there is the same in both. An empty one means that the dialect does not have it.
	Words map[string]string
	// Number writes the numbers before lines of files: BarNumbers unless set.
	Number Numbering
	// Ran puts the result of a command that was run to its end into the dialect's form. It gets what the command printed as the Content, and
	// its Ran; of a patch, which models write as a command too, it gets the result of apply_patch, which has no Ran.
	Ran func(tool.Result) tool.Result
	// Edited and Wrote return what a model reads after edit_file and write_file have changed a file.
	Edited func(Edited) string
	Wrote  func(Wrote) string
}

// Edited is an edit that was made.
type Edited struct {
	Name    string // of the file, as results show it
	Count   int    // of the occurrences that were replaced
	Lines   string // where they were, such as "line 3"
	Beside  string // what old_string did not have as the file has it, such as indentation; empty if it matched exactly
	Snippet string // the lines around the place as they are now, with their numbers; empty where there were several places
}

// String returns what this project's own dialect tells of an edit.
func (e Edited) String() string {
	text := fmt.Sprintf("Edited %s: replaced %s (%s).%s", e.Name, count(e.Count, "occurrence"), e.Lines, e.Note())
	if e.Snippet != "" {
		text += " It now reads:\n" + e.Snippet
	}
	return text
}

// Note returns a sentence, after a space, about an old_string that did not match exactly, or "".
func (e Edited) Note() string {
	if e.Beside == "" {
		return ""
	}
	return " old_string did not match exactly, but it did except for " + e.Beside + "."
}

// Wrote is a file that was written as a whole.
type Wrote struct {
	Name     string // as results show it
	Bytes    int
	Replaced bool  // there was such a file
	Before   int64 // its size in bytes
}

// String returns what this project's own dialect tells of a file that was written.
func (w Wrote) String() string {
	if w.Replaced {
		return fmt.Sprintf("Replaced %s (%s, before: %d).", w.Name, count(w.Bytes, "byte"), w.Before)
	}
	return fmt.Sprintf("Created %s (%s).", w.Name, count(w.Bytes, "byte"))
}

// word returns the dialect's name of a tool or a parameter.
func (d Dialect) word(name string) string {
	if word, ok := d.Words[name]; ok {
		return word
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// number puts the dialect's line numbers before lines.
func (d Dialect) number(lines []string, first int) string {
	if d.Number == nil {
		return Numbering(BarNumbers).lines(lines, first)
	}
	return d.Number.lines(lines, first)
}

// howToFind tells how to look for a file, as the end of a sentence.
func (d Dialect) howToFind() string {
	if glob := d.word("glob"); glob != "" {
		return "find it with " + glob
	}
	return "find it with the command find in " + d.word("shell")
}

// howToList tells how to list a directory, as the end of a sentence.
func (d Dialect) howToList() string {
	if list := d.Words["list_dir"]; list != "" {
		return "list it with " + list
	}
	if glob := d.word("glob"); glob != "" {
		return fmt.Sprintf("list it with %s or %s", glob, d.word("shell"))
	}
	return "list it with the command ls in " + d.word("shell")
}
