package orphans

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestI5_AnOrphanIsFoundAndEnded(t *testing.T) {
	Adopt()
	if code := Check(0); code != 0 {
		t.Fatalf("exit code %d with nothing left", code)
	}
	out, err := exec.Command("sh", "-c", `env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!`).Output()
	if err != nil {
		t.Fatal(err)
	}
	if list := Below(); len(list) != 1 {
		t.Errorf("children %v, want %s", list, strings.TrimSpace(string(out)))
	}
	if code := check(0, time.Second); code != 1 {
		t.Errorf("exit code %d", code)
	}
	for len(Below()) > 0 { // a KILL takes a moment
	}
	if code := Check(3); code != 3 {
		t.Errorf("exit code %d, want that of the tests", code)
	}
}
