package checkpoint

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// Plan holds what an undo is going to do. It is complete, so an undo that was killed can be
// finished from it.
type Plan struct {
	Version int `json:"version"`
	// Now is the root of the tree that was recorded before the undo.
	Now env.Hash `json:"now"`
	// Steps are in the order in which they are taken.
	Steps []Step `json:"steps,omitempty"`
	// Left are the changes that are left alone.
	Left []Kept `json:"left,omitempty"`
	// Done is the number of changes that need nothing, because the paths are as they were before
	// them.
	Done int `json:"done,omitempty"`
	// Git says what becomes of the repository. Nil leaves it alone.
	Git *GitPlan `json:"git,omitempty"`
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return len(p.Steps) == 0 && (p.Git == nil || len(p.Git.Steps) == 0) }

// planVersion is the form of plans that this package writes and reads.
const planVersion = 1

// Op is the kind of a step.
type Op string

// The kinds of steps.
const (
	// OpOpen gives the owner of a directory all permissions, so that the next steps can change what
	// it holds. OpChmod follows.
	OpOpen Op = "open"
	// OpRemove removes a file, a link, or an empty directory.
	OpRemove Op = "remove"
	// OpMkdir makes a directory. OpChmod follows.
	OpMkdir Op = "mkdir"
	// OpWrite writes a file, with its permissions.
	OpWrite Op = "write"
	// OpLink makes a symbolic link.
	OpLink Op = "link"
	// OpChmod sets the permissions of a file or directory.
	OpChmod Op = "chmod"
)

// Step changes one path. It can be repeated: a step that has been taken already does nothing.
type Step struct {
	Op   Op   `json:"op"`
	Path Name `json:"path"`
	// Was is what the path has to hold, and Want what it holds afterwards. Nil means nothing. If a
	// path has an OpRemove and another step, both have the same Was and Want.
	Was  *State `json:"was,omitempty"`
	Want *State `json:"want,omitempty"`
}

// State describes what a path holds.
type State struct {
	Mode   fs.FileMode `json:"mode"`
	Object env.Hash    `json:"object,omitempty"` // of a regular file
	Size   int64       `json:"size,omitempty"`   // of a regular file, in bytes
	Target Name        `json:"target,omitempty"` // of a symbolic link
}

// stateOf returns an entry as a State.
func stateOf(e *Entry) *State {
	switch {
	case e == nil:
		return nil
	case e.Mode.IsDir():
		return &State{Mode: e.Mode}
	}
	return &State{Mode: e.Mode, Object: e.Object, Size: e.Size, Target: Name(e.Target)}
}

// Kept is a path that an undo leaves alone.
type Kept struct {
	Path   Name   `json:"path"`
	Reason Reason `json:"reason"`
	// Detail is for people: an error, or names.
	Detail string `json:"detail,omitempty"`
}

// Reason is why a path is left alone.
type Reason string

// The reasons. Force overrides the first four.
const (
	ReasonChanged    Reason = "changed"    // somebody else has changed it since
	ReasonMixed      Reason = "mixed"      // somebody else has changed it between two changes by the session
	ReasonUnknown    Reason = "unknown"    // nobody knows whether the session has changed it
	ReasonIgnored    Reason = "ignored"    // it may have been there, unrecorded, before the session
	ReasonUnrecorded Reason = "unrecorded" // what is there now is not recorded
	ReasonNotEmpty   Reason = "not-empty"  // the directory holds files that stay
	ReasonBlocked    Reason = "blocked"    // the directory that it belongs in is not there
	ReasonRepository Reason = "repository" // it is one of a repository's own files, or no path of the workspace
	ReasonFailed     Reason = "failed"     // changing it failed
)

// String returns the reason in words.
func (r Reason) String() string {
	switch r {
	case ReasonChanged:
		return "changed by somebody else since"
	case ReasonMixed:
		return "changed by somebody else between two changes by the session"
	case ReasonUnknown:
		return "changed while a call was killed, perhaps by somebody else"
	case ReasonIgnored:
		return "was ignored before, so nobody knows whether the session has made it"
	case ReasonUnrecorded:
		return "not recorded, because it is ignored, too large, unreadable, or no file"
	case ReasonNotEmpty:
		return "the directory holds files that stay"
	case ReasonBlocked:
		return "the directory that it belongs in is not there"
	case ReasonRepository:
		return "the repository's own files are never changed"
	case ReasonFailed:
		return "could not be changed"
	}
	return string(r)
}

// String returns the path, the reason and the detail in one line, without control characters.
func (k Kept) String() string {
	text := k.Path.Shown() + ": " + k.Reason.String()
	if k.Detail != "" {
		text += " (" + k.Detail + ")"
	}
	return text
}

// Name is a path or a link's target, of any bytes. In JSON, what is not UTF-8 is written in base64.
type Name string

// namePrefix begins a name in base64.
const namePrefix = "base64:"

// MarshalText implements encoding.TextMarshaler.
func (n Name) MarshalText() ([]byte, error) {
	if utf8.ValidString(string(n)) && !strings.HasPrefix(string(n), namePrefix) {
		return []byte(n), nil
	}
	return []byte(namePrefix + base64.StdEncoding.EncodeToString([]byte(n))), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Name) UnmarshalText(text []byte) error {
	encoded, ok := strings.CutPrefix(string(text), namePrefix)
	if !ok {
		*n = Name(text)
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return fmt.Errorf("a name in base64: %w", err)
	}
	*n = Name(data)
	return nil
}

// Shown returns the name for people, without control characters.
func (n Name) Shown() string { return texts.Shown(string(n)) }
