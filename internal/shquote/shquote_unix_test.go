//go:build unix

package shquote_test

import (
	"os/exec"
	"testing"

	"github.com/attractor-go/attractor/internal/shquote"
)

// A shell gets each word back as it was.
func TestA10_WordsForShells(t *testing.T) {
	texts := []string{"", "plain", "it's", "''", "a b\tc\nd", `back\slash\`, "$HOME `date` $(date)", "*?[a-z]{a,b}",
		"~", "#!;&|<>()", "\xff\x01é", "-n"}
	out, err := exec.Command("/bin/sh", "-c", "printf '%s\\001' "+shquote.Words(texts...)).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, text := range texts {
		want += text + "\x01"
	}
	if string(out) != want {
		t.Errorf("the shell read %q, want %q", out, want)
	}
}
