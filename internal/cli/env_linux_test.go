package cli

import (
	"bytes"
	"strings"
	"testing"
)

// Somebody who types the command is told what it is for.
func TestO1_EnvServeWantsNoTerminal(t *testing.T) {
	_, theirs := openTerminal(t)
	var out, errs bytes.Buffer
	code := execute([]string{"env", "serve"}, terminal{in: theirs, out: &out, err: &errs})
	if code != exitUsage || !strings.Contains(errs.String(), "a terminal") || !strings.Contains(errs.String(),
		"--env-command") || out.Len() > 0 {
		t.Errorf("exit code %d, %q, %q", code, out.String(), errs.String())
	}
	if err := theirs.Close(); err != nil {
		t.Error(err)
	}
}
