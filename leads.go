package attractor

import (
	"context"
	"encoding/json"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sessions"
)

// checkLeads returns an error if the directory of a resumed session leads elsewhere than before.
// Otherwise whoever puts a link in its place, such as a command in the sandbox of another session,
// would choose where this one changes files. Somebody who names a directory has chosen it.
func (s *Setup) checkLeads(c *config) error {
	if c.was == nil {
		return nil
	}
	s.led = sessions.LedBefore(c.was)
	now := sessions.LeadsNow(c.Dir)
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
	now := sessions.LeadsNow(s.Machine.WorkDir())
	if now == s.led || now.Dir == now.To && now.Dir != s.led.Dir {
		return nil
	}
	data, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return s.session.Note(ctx, sessions.LeadsNote, data, "")
}
