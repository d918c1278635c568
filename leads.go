package attractor

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/userfiles"
)

// leadsNote is the kind of the note that says where the directory of a session leads, if its name
// has links.
const leadsNote = "attractor.leads"

// leads says where a directory leads. Both have slashes.
type leads struct {
	Dir string `json:"dir"`
	To  string `json:"to"` // without symbolic links
}

// leadsNow returns where a directory leads now.
func leadsNow(dir string) leads {
	return leads{filepath.ToSlash(dir), filepath.ToSlash(userfiles.RealPath(filepath.FromSlash(dir)))}
}

// ledBefore returns where the directory of a session led when it was chosen. Without a note its
// name had no links.
func ledBefore(was *agent.State) (l leads) {
	note, ok := was.Notes[leadsNote]
	if ok && json.Unmarshal(note.Data, &l) == nil && l.Dir == was.Dir() {
		return l
	}
	return leads{was.Dir(), was.Dir()}
}

// checkLeads returns an error if the directory of a resumed session leads elsewhere than before.
// Otherwise whoever puts a link in its place, such as a command in the sandbox of another session,
// would choose where this one changes files. Somebody who names a directory has chosen it.
func (s *Setup) checkLeads(c *config) error {
	if c.was == nil {
		return nil
	}
	s.led = ledBefore(c.was)
	now := leadsNow(c.Dir)
	if s.moved || c.continued != "" || now == s.led {
		return nil
	}
	return fail(ErrConfig, "cannot work in %s, where the session worked before: it leads to %s now, and led to "+
		"%s then; name the directory to go on in (--dir)", texts.Shown(c.Dir), texts.Shown(now.To),
		texts.Shown(s.led.To))
}

// noteLeads notes where the directory of the session leads, unless that is clear without a note.
func (s *Setup) noteLeads(ctx context.Context) error {
	if s.far != nil || s.Machine == nil { // the directory is none of this machine's, or the host's own choice
		return nil
	}
	now := leadsNow(s.Machine.WorkDir())
	if now == s.led || now.Dir == now.To && now.Dir != s.led.Dir {
		return nil
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return s.session.Note(ctx, leadsNote, data, "")
}
