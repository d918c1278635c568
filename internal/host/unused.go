package host

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/shquote"
)

// unused collects what a project has that is not used because nobody trusts the project. The user is told once.
type unused struct {
	why   string
	parts []string
}

// add adds names of a kind, such as "skills".
func (u *unused) add(kind string, list []string, why string) {
	if len(list) > 0 {
		u.why = why
		u.parts = append(u.parts, kind+": "+shownNames(list))
	}
}

// unusedText returns the warning about what of the session's project is not used, or "" if nothing is unused.
func (s *Setup) unusedText() string {
	if s.far == nil || len(s.unused.parts) == 0 {
		return s.unused.text(s.named)
	}
	return fmt.Sprintf("These parts of the project are not used, because %s: %s.", s.unused.why, strings.Join(s.unused.parts, "; "))
}

// text returns the warning, or "" if nothing is unused. The project is that of a directory which the user has named, or "" for the current one.
func (u *unused) text(dir string) string {
	if len(u.parts) == 0 {
		return ""
	}
	command := "attractor trust"
	if dir != "" && dir != "." {
		command += " " + shquote.Shown(dir)
	}
	return fmt.Sprintf("These parts of the project are not used, because %s: %s. To see the files and decide, run: %s", u.why, strings.Join(u.parts, "; "), command)
}

// TellsUnused reports whether a warning of the session says what of the project is not used.
func (s *Setup) TellsUnused() bool { return len(s.unused.parts) > 0 }
