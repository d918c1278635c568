package mcptest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/peer"
)

// The client scenarios of the protocol's conformance suite. Those that fail are in
// testdata/conformance.txt with the checks that fail and the reason. Another one that fails, or one
// of them that passes, fails the test.
func TestM5_Conformance(t *testing.T) {
	t.Parallel()
	suite := peer.Need(t, "mcp-conformance")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(self, " '\"$") {
		t.Skipf("the suite cannot run a command with special characters in its path: %s", self)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), suite, "client", "--suite", "all", "--command", self, "--timeout",
		fmt.Sprint(2*slow.Milliseconds()), "--output-dir", dir)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), role+"=conform")
	out, err := cmd.CombinedOutput() // the suite's exit code says only that some fail
	want, got := baseline(t), results(t, dir)
	if len(got) < 26 {
		t.Fatalf("%d scenarios ran: %v\n%s", len(got), err, out)
	}
	for _, scenario := range slices.Sorted(maps.Keys(got)) {
		if got[scenario] != want[scenario] {
			t.Errorf("%s: the checks that fail are %q, and %q in testdata/conformance.txt", scenario, got[scenario],
				want[scenario])
		}
		delete(want, scenario)
	}
	for scenario := range want {
		t.Errorf("%s is in testdata/conformance.txt, but did not run", scenario)
	}
	t.Logf("%d scenarios", len(got))
}

// baseline returns the checks that are expected to fail, by scenario.
func baseline(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		head, reason, _ := strings.Cut(line, ": ")
		scenario, checks, _ := strings.Cut(head, " ")
		if reason == "" || checks == "" {
			t.Fatalf("a line without checks or a reason: %s", line)
		}
		want[scenario] = checks
	}
	return want
}

// results returns the checks that failed, by scenario, from the files of the suite.
func results(t *testing.T, dir string) map[string]string {
	t.Helper()
	moment := regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\dZ]+$`)
	got := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(name) != "checks.json" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		var checks []struct{ ID, Status string }
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&checks); err != nil {
			return err
		}
		var failed []string
		for _, c := range checks {
			// This one measures time, which says nothing on a busy machine.
			if c.Status == "FAILURE" && c.ID != "client-sse-retry-timing" && !slices.Contains(failed, c.ID) {
				failed = append(failed, c.ID)
			}
		}
		slices.Sort(failed)
		got[moment.ReplaceAllString(filepath.ToSlash(filepath.Dir(name)), "")] = strings.Join(failed, " ")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
