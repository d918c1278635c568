package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The helper is small enough to be uploaded to other machines, and linked statically.
func TestO1_Size(t *testing.T) {
	out := filepath.Join(t.TempDir(), "attractor-remote")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-trimpath")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 5e6 {
		t.Errorf("it has %d bytes, and 5 MB are the most; what does it link?", info.Size())
	}
}
