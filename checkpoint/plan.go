package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/texts"
)

// Plan holds what an undo is going to do. It is complete, so an undo that was killed can be
// finished from it.
type Plan struct {
	Version int `json:"version"`
	// Now is the root of the tree that was recorded before the undo.
	Now env.Hash `json:"now"`
	// Redo says that the undo takes another one back.
	Redo bool `json:"redo,omitempty"`
	// Paths are those that are put back, sorted.
	Paths []Reversal `json:"paths,omitempty"`
	// Left are the changes that are left alone.
	Left []Kept `json:"left,omitempty"`
	// Done is the number of changes that need nothing, because the paths are as they were before
	// them.
	Done int `json:"done,omitempty"`
	// Git says what becomes of the repository. Nil leaves it alone.
	Git *GitPlan `json:"git,omitempty"`

	begun bool // it was read from a file, so an undo has begun
}

// planVersion is the form of plans that this package writes and reads.
const planVersion = 2

// Reversal says what a path has to hold, and what it holds afterwards. Nil means nothing.
type Reversal struct {
	Path Name   `json:"path"`
	Was  *Entry `json:"was,omitempty"`
	Want *Entry `json:"want,omitempty"`
}

// removes reports whether the path holds something that has to go before what is wanted can be
// made.
func (r *Reversal) removes() bool {
	return r.Was != nil && (r.Want == nil || r.Want.Mode.Type() != r.Was.Mode.Type() || r.Want.isLink())
}

// changesMode reports whether only permissions are changed.
func (r *Reversal) changesMode() bool {
	return r.Was.isDir() && r.Want.isDir() || r.Was.isFile() && r.Want.isFile() && r.Was.Object == r.Want.Object
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

// reasons are in words for people.
var reasons = map[Reason]string{
	ReasonChanged:    "changed by somebody else since",
	ReasonMixed:      "changed by somebody else between two changes by the session",
	ReasonUnknown:    "changed while a call was killed, perhaps by somebody else",
	ReasonIgnored:    "was ignored before, so nobody knows whether the session has made it",
	ReasonUnrecorded: "not recorded, because it is ignored, too large, unreadable, or no file",
	ReasonNotEmpty:   "the directory holds files that stay",
	ReasonBlocked:    "the directory that it belongs in is not there",
	ReasonRepository: "the repository's own files are never changed",
	ReasonFailed:     "could not be changed",
}

// String returns the path, the reason and the detail in one line, without control characters.
func (k Kept) String() string {
	text := k.Path.Shown() + ": " + reasons[k.Reason]
	if k.Detail != "" {
		text += " (" + k.Detail + ")"
	}
	return text
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return len(p.Paths) == 0 && (p.Git == nil || len(p.Git.Steps) == 0) }

// Text returns the plan for people: at most that many lines of paths of each kind, and the numbers
// of the others.
func (p *Plan) Text(lines int) string {
	var back, again, removed, modes, left []string
	for _, r := range p.Paths {
		name := r.Path.Shown()
		if r.Want.isDir() || r.Want == nil && r.Was.isDir() {
			name += "/"
		}
		switch {
		case r.Want == nil:
			removed = append(removed, name)
		case r.Was == nil:
			again = append(again, name)
		case r.changesMode():
			modes = append(modes, fmt.Sprintf("%s (%03o, now %03o)", name, r.Want.Mode.Perm(), r.Was.Mode.Perm()))
		default:
			back = append(back, name)
		}
	}
	slices.Reverse(removed) // what is in a directory goes first
	for _, kept := range p.Left {
		left = append(left, kept.String())
	}
	var b strings.Builder
	writeList(&b, "Put back", back, lines)
	writeList(&b, "Make again", again, lines)
	writeList(&b, "Remove", removed, lines)
	writeList(&b, "Permissions", modes, lines)
	if p.Git != nil {
		for _, step := range p.Git.Steps {
			fmt.Fprintf(&b, "In the repository: %s\n", step.Note)
		}
		for _, left := range p.Git.Left {
			fmt.Fprintf(&b, "Left alone in the repository: %s\n", left)
		}
	}
	writeList(&b, "Left alone", left, lines)
	if p.Done > 0 {
		fmt.Fprintf(&b, "Already as before: %s\n", texts.Count(p.Done, "path"))
	}
	if p.Empty() {
		b.WriteString("There is nothing to put back.\n")
	}
	return b.String()
}

// writeList writes a title with the number of entries, and the first of these.
func writeList(b *strings.Builder, title string, entries []string, lines int) {
	if len(entries) == 0 {
		return
	}
	fmt.Fprintf(b, "%s: %s\n", title, texts.Count(len(entries), "path"))
	for _, entry := range entries[:min(len(entries), lines)] {
		fmt.Fprintf(b, "  %s\n", entry)
	}
	if more := len(entries) - lines; more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}

// ErrUnfinished reports that an undo was not begun because an earlier one has not been finished;
// see ReadPlan.
var ErrUnfinished = errors.New("an earlier undo was interrupted and has to be finished first")

// ReadPlan reads the plan of an undo that was interrupted, so that Undo can finish it. The error
// wraps fs.ErrNotExist if there is none.
func ReadPlan(file string) (*Plan, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := &Plan{begun: true}
	if err = json.Unmarshal(data, p); err == nil && p.Version != planVersion {
		err = fmt.Errorf("it has the form %d, and this program knows %d", p.Version, planVersion)
	}
	for _, r := range p.Paths {
		if r.Was == nil && r.Want == nil {
			err = errors.Join(err, fmt.Errorf("it does not say what becomes of %s", r.Path.Shown()))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the plan of an undo in %s cannot be read; remove the file to give up the rest of "+
			"that undo: %w", file, err)
	}
	return p, nil
}

// save writes the plan durably to a file that does not exist. Only the user may read it.
func (p *Plan) save(file string) (err error) {
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(ErrUnfinished, err)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.Write(file, data)
}
