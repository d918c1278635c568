package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// The URL comes from an authorization server. It reaches the opener as one word, and keys do not
// reach it.
func TestM3_openBrowser(t *testing.T) {
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	if err := syscall.Mkfifo(seen, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nprintf '%s|' \"$#\" \"$1\" \"$WORK_TOKEN\" \"$DISPLAY\" > " + seen + "\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	t.Setenv("DISPLAY", ":7")
	t.Setenv("WORK_TOKEN", "s3cret-s3cret")
	if err := openBrowser(t.Context(), "https://login.example/a?b=$(touch${IFS}x)&c=';d"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(seen) // waits for the opener
	if want := "1|https://login.example/a?b=$(touch${IFS}x)&c=';d||:7|"; err != nil || string(got) != want {
		t.Errorf("the opener saw %q (%v), want %q", got, err, want)
	}
}
