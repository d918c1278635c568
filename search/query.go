package search

import "time"

// Query is what Grep looks for.
type Query struct {
	// Pattern is a regular expression in Go's syntax (RE2), matched against one line after the other, without their ends: ^
	// and $ are a line's ends. A carriage return before a newline is part of the line's end unless the pattern names it.
	Pattern string
	// Path is the file or directory to search; empty means the working directory. A file that is named is searched
	// whatever Glob and .gitignore say.
	Path string
	// Glob, when set, selects files. Without a slash it is matched against the file's name, otherwise against its path from
	// Path or from the working directory. A ! in front excludes what matches.
	Glob       string
	IgnoreCase bool
	Mode       Mode
	// Max is how many matching lines, or files in the modes that list files, are returned; 0 means no limit.
	Max int
	// Before and After are how many lines around a match are returned with it, in the mode Lines.
	Before, After int
}

// Mode is what Grep returns.
type Mode uint8

// The modes. Files and Counts fill no lines; Files stops at a file's first match, so its Count is 1.
const (
	Lines Mode = iota
	Files
	Counts
)

// Result is what Grep found.
type Result struct {
	// Files are those with a match, in the order of the walk: by name, directory by directory.
	Files []FileMatches
	// More says that there are matches beyond Query.Max.
	More bool
	// Searched is how many text files were looked at, and Binary how many files were left out because they are none.
	Searched, Binary int
	// Unreadable names files and directories that could not be read, with the reason; the first few of them.
	Unreadable []string
}

// FileMatches are one file's.
type FileMatches struct {
	// Path is relative to the working directory for files inside it, otherwise absolute.
	Path  string
	Count int // matching lines
	Lines []Line
}

// Line is a line of a file, a match or the context of one. The text has no line end and may be invalid UTF-8. Of a long line
// only the part around the match is there.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool
	// CutBefore and CutAfter are the bytes left out on either side of Text.
	CutBefore, CutAfter int
}

// Listing is what Glob found.
type Listing struct {
	Files []File // newest first; those of one time by path
	// Unreadable names directories that could not be read, with the reason; the first few of them.
	Unreadable []string
}

// File is one of a Listing.
type File struct {
	// Path is relative to the working directory for files inside it, otherwise absolute.
	Path    string
	Size    int64
	ModTime time.Time
}
