package host

import (
	"fmt"
	"strings"
)

// unused collects what a project has that is not used because nobody trusts the project. The user is told once.
type unused struct {
	why   string
	parts []string
}

// add adds names of a kind, such as "the skills".
func (u *unused) add(kind string, list []string, why string) {
	if len(list) > 0 {
		u.why = why
		u.parts = append(u.parts, kind+" "+shownNames(list))
	}
}

// text returns the warning, or "" if nothing is unused.
func (u *unused) text() string {
	if len(u.parts) == 0 {
		return ""
	}
	return fmt.Sprintf("These parts of the project are not used, because %s: %s. To see the files and decide, run: attractor trust", u.why, strings.Join(u.parts, "; "))
}
