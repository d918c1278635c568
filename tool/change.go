package tool

import "github.com/attractor-go/attractor/env"

// Change is what a call has done to one file: what the file was before the call against what it is after it, whatever happened in
// between. A file that came out as it was has no change.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Path is absolute, without symbolic links where the environment can tell. A deleted file has none any more; it is where it was.
	Path string `json:"path"`
	From string `json:"from,omitempty"` // where a moved file was before, as Path
	// Before and After name the contents. They are empty where there is no file, and where the tool does not know.
	Before env.Hash `json:"before,omitempty"`
	After  env.Hash `json:"after,omitempty"`
	// Unseen says that the session has not seen what the file is now, as after a command whose changes a middleware has found: the file is not to
	// be replaced before it is read. What a call has written itself, it has seen.
	Unseen bool `json:"unseen,omitempty"`
	// Diff is a unified diff of the contents, if the call was asked for it ([Call.Diffs]) and both are text of no more than 1 MiB. Its names
	// are relative to the working directory where they can be, after a/ and b/, so that git can apply it. An empty file that was created or
	// deleted has no lines, and so no diff.
	Diff string `json:"diff,omitempty"`
	// DiffCut says that the diff was longer than it could be: Diff has the lines that fit.
	DiffCut bool `json:"diff_cut,omitempty"`
}

// ChangeKind says how a file was changed.
type ChangeKind string

// The kinds of changes.
const (
	Created  ChangeKind = "created"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
	Moved    ChangeKind = "moved" // and perhaps modified, which Before and After tell
)

// Remember notes in known, by path, what a session knows of files after a call that has seen and changed some. What was changed into
// something that the tool does not tell, nobody has seen.
func Remember(known map[string]env.Hash, seen []Seen, changes []Change) {
	for _, f := range seen {
		known[f.Path] = f.Hash
	}
	for _, c := range changes {
		if c.Unseen {
			delete(known, c.From)
			delete(known, c.Path)
			continue
		}
		if c.From != "" {
			known[c.From] = env.NoFile
		}
		if known[c.Path] = c.After; c.After == env.NoFile && c.Kind != Deleted {
			delete(known, c.Path)
		}
	}
}
