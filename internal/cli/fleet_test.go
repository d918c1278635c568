//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// attractor fleet runs the program attractor-fleet of PATH with all arguments as they are, and ends
// as it does. Without the program it says how to install it.
func TestP1_FleetIsAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf '<%s>' \"$0\" \"$@\"\necho trouble >&2\nexit 7\n"
	if err := os.WriteFile(filepath.Join(dir, fleetProgram), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := attractorCommand(t, "fleet", "batch", "--help", "a b", "")
	cmd.Env = append(cmd.Env, "PATH="+dir+":"+os.Getenv("PATH"))
	out := runCommand(t, cmd)
	if want := "<" + filepath.Join(dir, fleetProgram) + "><batch><--help><a b><>"; out.code != 7 ||
		out.stdout != want || out.stderr != "trouble\n" {
		t.Errorf("%+v, not %s", out, want)
	}
	cmd = attractorCommand(t, "fleet", "batch")
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir())
	if out := runCommand(t, cmd); out.code != 2 || !strings.Contains(out.stderr,
		"go -C fleet install ./cmd/attractor-fleet") {
		t.Errorf("without it: %+v", out)
	}
}
