package env

import "io/fs"

// The modes of placeholders: what a sandbox puts, while commands run, where protected files are
// missing. They are empty directories, and files with at most PlaceholderSize bytes. Nobody else
// uses the sticky bit on what is read-only.
const (
	PlaceholderDir  = 0o555 | fs.ModeSticky
	PlaceholderFile = 0o444 | fs.ModeSticky
	PlaceholderSize = 2
)
