package coding

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/tool"
)

// Dialect makes the tools for a model family that knows them by other names. It supplies the words
// of their descriptions and results. The zero value is this project's own dialect.
type Dialect struct {
	// Words has the dialect's names by this project's: of a tool, such as "shell", or of a
	// parameter, such as "shell.timeout_ms". A missing name is the same in both. An empty one means
	// that the dialect does not have it.
	Words map[string]string
	// Number writes the numbers before the lines of a file. The default is BarNumbers.
	Number Numbering
	// Ran turns the result of a command into the dialect's form. The result has what the command
	// printed as its Content. If the command was a patch, which models also write as a command, it
	// is the result of apply_patch and has no Ran.
	Ran func(tool.Result) tool.Result
	// Edited and Wrote return what a model reads after edit_file and write_file have changed a
	// file.
	Edited func(Edited) string
	Wrote  func(Wrote) string
}

// Edited describes an edit that was made.
type Edited struct {
	Name    string // the file's name, as results show it
	Count   int    // number of replaced occurrences
	Lines   string // where they were, such as "line 3"
	Beside  string // how old_string differed from the file, such as in indentation; empty if it matched exactly
	Snippet string // the edited lines with their numbers and context; empty if there were several places
}

// String returns what a model reads of the edit in this project's own dialect.
func (e Edited) String() string {
	text := fmt.Sprintf("Edited %s: replaced %s (%s).%s", e.Name, texts.Count(e.Count, "occurrence"), e.Lines, e.Note())
	if e.Snippet != "" {
		text += " It now reads:\n" + e.Snippet
	}
	return text
}

// Note returns a sentence that begins with a space if old_string did not match exactly, and
// otherwise "".
func (e Edited) Note() string {
	if e.Beside == "" {
		return ""
	}
	return " old_string did not match exactly: it matched except for " + e.Beside + "."
}

// Wrote describes a file that was written as a whole.
type Wrote struct {
	Name     string // the file's name, as results show it
	Bytes    int
	Replaced bool  // the file existed before
	Before   int64 // its former size in bytes
	// Kept names what the file kept although the content lacks it, such as CRLF line ends, and
	// Changed is a sentence about what it did not keep. Either may be empty.
	Kept, Changed string
}

// String returns what a model reads of the file in this project's own dialect.
func (w Wrote) String() string {
	if w.Replaced {
		return fmt.Sprintf("Replaced %s (%s, before: %d).%s", w.Name, texts.Count(w.Bytes, "byte"), w.Before, w.Note())
	}
	return fmt.Sprintf("Created %s (%s).", w.Name, texts.Count(w.Bytes, "byte"))
}

// Note returns sentences that each begin with a space about what the file kept and did not keep, or
// "".
func (w Wrote) Note() string {
	var note string
	if w.Kept != "" {
		note = " It kept its " + w.Kept + ", which the content lacks; to change that, use a command."
	}
	if w.Changed != "" {
		note += " " + w.Changed + "."
	}
	return note
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

// howToFind says how to look for a file, as the end of a sentence.
func (d Dialect) howToFind() string {
	if glob := d.word("glob"); glob != "" {
		return "find it with " + glob
	}
	return "find it with the command find in " + d.word("shell")
}

// howToList says how to list a directory, as the end of a sentence.
func (d Dialect) howToList() string {
	if list := d.Words["list_dir"]; list != "" {
		return "list it with " + list
	}
	if glob := d.word("glob"); glob != "" {
		return fmt.Sprintf("list it with %s or %s", glob, d.word("shell"))
	}
	return "list it with the command ls in " + d.word("shell")
}
