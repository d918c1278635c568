package attractor

import (
	"fmt"
	"strings"
)

// unusedText returns the warning about what of the session's project is not used, or "" if nothing
// is unused.
func (s *Setup) unusedText() string {
	if s.far == nil || len(s.unused.Parts) == 0 {
		return s.unused.Text(s.named)
	}
	return fmt.Sprintf("These parts of the project are not used, because %s: %s.", s.unused.Why,
		strings.Join(s.unused.Parts, "; "))
}

// TellsUnused reports whether a warning of the session says what of the project is not used.
func (s *Setup) TellsUnused() bool { return len(s.unused.Parts) > 0 }
