package sessions

import (
	"encoding/json"
	"path/filepath"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// LeadsNote is the kind of the note that says where the directory of a session leads, if its name
// has links.
const LeadsNote = "attractor.leads"

// Leads says where a directory leads. Both have slashes.
type Leads struct {
	Dir string `json:"dir"`
	To  string `json:"to"` // without symbolic links
}

// LeadsNow returns where a directory leads now.
func LeadsNow(dir string) Leads {
	return Leads{filepath.ToSlash(dir), filepath.ToSlash(userfiles.RealPath(filepath.FromSlash(dir)))}
}

// LedBefore returns where the directory of a session led when it was chosen. Without a note its
// name had no links.
func LedBefore(was *agent.State) (l Leads) {
	note, ok := was.Notes[LeadsNote]
	if ok && json.Unmarshal(note.Data, &l) == nil && l.Dir == was.Dir() {
		return l
	}
	return Leads{was.Dir(), was.Dir()}
}
