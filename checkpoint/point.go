package checkpoint

import "github.com/attractor-go/attractor/env"

// NoteKind is the kind of the notes in which a session keeps its points.
const NoteKind = "checkpoint"

// Point is the data of a note: the trees around one call that may have changed the workspace, or
// around an undo. A point without After is written before a call if the tree is another one than
// the last point's After, so that it is known also after a kill.
type Point struct {
	Call   string   `json:"call,omitempty"` // the id of the call
	Before env.Hash `json:"before"`         // the root of the tree before it
	After  env.Hash `json:"after,omitempty"`
	// Undo says that the change was not the model's: an undo, or the undo of one.
	Undo bool `json:"undo,omitempty"`
	// Redo says that it was the undo of an undo.
	Redo bool `json:"redo,omitempty"`
	// Left says what the tree does not have. It is in the first point of a session, and where it
	// changes.
	Left *Left `json:"left,omitempty"`
	// Git is the state of the repository before the call, if the top directory is in one.
	Git *GitState `json:"git,omitempty"`
	// GitAfter is its state after the call. Nil in a point with an After means that the call has
	// not changed it.
	GitAfter *GitState `json:"git_after,omitempty"`
}

// GitState describes what a repository had checked out. Undo restores it only on request.
type GitState struct {
	Dir    string   `json:"dir"`              // the repository's .git directory, absolute
	Head   string   `json:"head"`             // the content of HEAD, such as "ref: refs/heads/main"
	Commit string   `json:"commit,omitempty"` // what HEAD leads to
	Index  env.Hash `json:"index,omitempty"`  // the object that has the content of the index
}
