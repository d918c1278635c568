package permit_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/permit"
)

// Modes of Claude Code are answered with the mode of this program.
func TestQ4_ModesOfClaudeCode(t *testing.T) {
	for other, here := range map[string]permit.Mode{"default": permit.ModeAsk, "acceptEdits": permit.ModeAcceptEdits,
		"bypassPermissions": permit.ModeFull} {
		if _, err := permit.ParseMode(other); err == nil || !strings.Contains(err.Error(),
			"here it is "+string(here)+" ") {
			t.Errorf("%s: %v", other, err)
		}
		if _, err := permit.ParseMode(string(here)); err != nil {
			t.Error(err)
		}
	}
}
