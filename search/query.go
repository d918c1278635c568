package search

import (
	"fmt"
	"time"
)

// Query holds the parameters of Grep.
type Query struct {
	// Pattern holds a regular expression in Go's syntax (RE2). It is matched against each line
	// without the line's end, so ^ and $ match at the ends of a line. A carriage return before a
	// newline belongs to the line's end unless the pattern names it.
	Pattern string
	// Path names the file or directory to search; "" means the working directory. A file is
	// searched even if Glob or a .gitignore excludes it.
	Path string
	// Glob selects files, unless it is empty. Without a slash it is matched against the file's
	// name, otherwise against its path from Path or from the working directory. A ! in front
	// excludes what matches.
	Glob       string
	IgnoreCase bool
	Mode       Mode
	// Max limits the matching lines, or the files in the modes Files and Counts; 0 means no limit.
	Max int
	// Before and After hold the number of lines to return around a match, in the mode Lines.
	Before, After int
}

// Mode selects what Grep returns of a file.
type Mode uint8

// The modes. Files and Counts return no lines.
const (
	Lines Mode = iota
	Files      // stops at the first match in a file, so that its Count is 1
	Counts
)

// Result holds what Grep found.
type Result struct {
	// Files holds the files with a match in the order of the walk: by name, directory by directory.
	Files []FileMatches
	// More reports whether there are matches beyond Query.Max.
	More bool
	// Searched counts the text files that were searched, Binary the files that were skipped because
	// they are not text.
	Searched, Binary int
	// Stopped reports whether the search took longer than 30 s, so that there may be more in the
	// files that were not searched, or not to their ends.
	Stopped bool
	// Unreadable names the first few files and directories that could not be read, or of which a
	// line is too long to be searched as a whole, with the reasons.
	Unreadable []string
}

// FileMatches holds the matches in one file.
type FileMatches struct {
	// Path is relative to the working directory for files inside it, otherwise absolute.
	Path  string
	Count int // matching lines
	Lines []Line
}

// Line holds a line that matches, or that is context of a match. The text has no line end and may
// be invalid UTF-8. A long line is cut to the part around the match.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool
	// CutBefore and CutAfter count the bytes left out on either side of Text.
	CutBefore, CutAfter int
}

// Shown returns the text of the line for a result, with how much is left out on either side.
func (l Line) Shown() string {
	text := l.Text
	if l.CutBefore > 0 {
		text = fmt.Sprintf("[... %d bytes] %s", l.CutBefore, text)
	}
	if l.CutAfter > 0 {
		text += fmt.Sprintf(" [%d bytes ...]", l.CutAfter)
	}
	return text
}

// Listing holds what Glob found.
type Listing struct {
	Files []File // newest first, then by path
	// Stopped reports whether the search took longer than 30 s, so that files may be missing.
	Stopped bool
	// Unreadable names the first few directories that could not be read, with the reasons.
	Unreadable []string
}

// File holds one file of a Listing.
type File struct {
	// Path is relative to the working directory for files inside it, otherwise absolute.
	Path    string
	Size    int64
	ModTime time.Time
}
