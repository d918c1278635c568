package sandbox

import (
	"strings"
	"testing"
)

// The profile denies all writes before it allows some, protects files after that, and no path can end its string.
func TestL4_SeatbeltProfile(t *testing.T) {
	s := seatbelt{write: []string{`/work/a "b" \c`, "/private/tmp/x"}, protect: []string{`/work/a "b" \c`}, hidden: []string{"/Users/u"}, read: []string{"/Users/u/go/pkg/mod"}}
	text := s.profile()
	at := -1
	for _, want := range []string{
		"(version 1)\n", "(deny file-write*)\n", `(deny file-read* (subpath "/Users/u"))`, `(allow file-read* (subpath "/Users/u/go/pkg/mod"))`,
		`(allow file-read* file-write* (subpath "/work/a \"b\" \\c"))`, `(deny file-write* (subpath "/work/a \"b\" \\c/.mcp.json"))`,
		`(deny file-write* (literal "/work/a \"b\" \\c/.git"))`, `(deny file-write* (subpath "/work/a \"b\" \\c/.git/hooks"))`, "(deny network*)\n",
	} {
		next := strings.Index(text, want)
		if next <= at {
			t.Errorf("%s is missing or too early in\n%s", want, text)
		}
		at = next
	}
	if opened, closed := strings.Count(text, "("), strings.Count(text, ")"); opened != closed || opened == 0 {
		t.Errorf("%d parentheses are opened, %d closed", opened, closed)
	}
	s.network = true
	if strings.Contains(s.profile(), "network") {
		t.Error("the network is denied although it is allowed")
	}
}
