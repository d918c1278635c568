package tool

import "github.com/attractor-go/attractor/env"

// Change describes what a call did to one file, from before the call to after it. Intermediate
// states do not count: a file that ends as it began has no change.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Path is absolute, without symbolic links where the environment can tell. For a deleted file
	// it is the former path.
	Path string `json:"path"`
	From string `json:"from,omitempty"` // the former path of a moved file, in the form of Path
	// Before and After are the hashes of the contents. They are empty if there is no file, or if
	// the tool does not know. A file whose content the session does not know must be read before it
	// is replaced.
	Before env.Hash `json:"before,omitempty"`
	After  env.Hash `json:"after,omitempty"`
	// Diff is a unified diff of the contents, if the call asked for one ([Call.Diffs]) and both are
	// text of at most 1 MiB. Its names are relative to the working directory where possible, after
	// a/ and b/, so that git can apply it. An empty file that was created or deleted has no diff.
	Diff string `json:"diff,omitempty"`
	// DiffCut says that the diff was too long: Diff has the lines that fit.
	DiffCut bool `json:"diff_cut,omitempty"`
}

// ChangeKind says how a file was changed.
type ChangeKind string

// The kinds of changes.
const (
	Created  ChangeKind = "created"
	Modified ChangeKind = "modified"
	Deleted  ChangeKind = "deleted"
	Moved    ChangeKind = "moved" // and modified, if Before and After differ
)

// Remember updates known, by path, with what a session knows of files after a call that saw some
// and changed others. A file that a call changed into an unknown content is removed.
func Remember(known map[string]env.Hash, seen []Seen, changes []Change) {
	for _, f := range seen {
		known[f.Path] = f.Hash
	}
	for _, c := range changes {
		if c.From != "" {
			known[c.From] = env.NoFile
		}
		if known[c.Path] = c.After; c.After == env.NoFile && c.Kind != Deleted {
			delete(known, c.Path)
		}
	}
}
