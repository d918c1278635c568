package main

import (
	"bytes"
	"strings"
	"testing"
)

// The program says which protocol it speaks, and refuses what it does not know.
func TestO1_CommandLine(t *testing.T) {
	var out, complaint bytes.Buffer
	if code := run([]string{"serve", "--protocol"}, &out, &complaint); code != 0 ||
		out.String() != "attractor-env-protocol 1 1\n" {
		t.Errorf("code %d, %q, %q", code, &out, &complaint)
	}
	for _, args := range [][]string{nil, {"--help"}, {"serve", "x"}, {"proxy"}} {
		out.Reset()
		complaint.Reset()
		if code := run(args, &out, &complaint); code != exitUsage || !strings.Contains(complaint.String(),
			"usage: attractor-remote serve") || out.Len() > 0 {
			t.Errorf("%q: code %d, %q, %q", args, code, &out, &complaint)
		}
	}
}
