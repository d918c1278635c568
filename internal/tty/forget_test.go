package tty

import (
	"strings"
	"testing"
)

// A live area of several rows is drawn over itself. One that is forgotten stays, and what other
// programs have written above it, too.
func TestN4_ForgottenLiveArea(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, 80, 24)
	draw := func(live ...string) string {
		t.Helper()
		out.Reset()
		if err := s.Draw("", live, len(live)-1, 0); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	draw("one", "two", "three")
	if again := draw("one", "two", "four"); !strings.Contains(again, "\x1b[2A") {
		t.Errorf("the live area is not drawn over itself: %q", again)
	}
	s.Forget()
	if again := draw("one", "two", "four"); strings.Contains(again, "\x1b[2A") || !strings.Contains(again, "four") {
		t.Errorf("after it was forgotten: %q", again)
	}
}
