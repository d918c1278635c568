package load

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/texts"
)

// Unused collects what a project has that is not used because nobody trusts the project. The user
// is told once.
type Unused struct {
	Why   string
	Parts []string
}

// Add adds names of a kind, such as "skills".
func (u *Unused) Add(kind string, list []string, why string) {
	if len(list) > 0 {
		u.Why = why
		u.Parts = append(u.Parts, kind+": "+texts.SomeNames(list))
	}
}

// Text returns the warning, or "" if nothing is unused. dir is the project's directory as the user
// has named it; empty means the current one.
func (u *Unused) Text(dir string) string {
	if len(u.Parts) == 0 {
		return ""
	}
	command := "attractor trust"
	if dir != "" && dir != "." {
		command += " " + shquote.Shown(dir)
	}
	return fmt.Sprintf("These parts of the project are not used, because %s: %s. To see the files and decide, run: %s",
		u.Why, strings.Join(u.Parts, "; "), command)
}
