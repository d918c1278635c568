//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// run --continue goes on with the newest session of the directory, under any name of the directory.
// Sessions of other directories do not count.
func TestN8_Continue(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, fakellm.Turn{Text: "first"}, fakellm.Turn{Text: "second"}, fakellm.Turn{Text: "third"})
	h := newHome(t, url)
	if out := h.run(exitUsage, "run", "--continue", "x"); !strings.Contains(out.stderr,
		"there is no session of "+h.dir+" to continue; to list sessions, run:") {
		t.Errorf("without sessions: %s", out.stderr)
	}
	h.run(0, "run", "--yes", "the task of here")
	elsewhere := *h
	elsewhere.dir = t.TempDir()
	elsewhere.run(0, "run", "--yes", "the task of elsewhere")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(h.dir, link); err != nil {
		t.Fatal(err)
	}
	if out := elsewhere.run(0, "run", "--yes", "--continue", "--dir", link, "more of here"); out.stdout != "second\n" {
		t.Errorf("through a link: %q, %s", out.stdout, out.stderr)
	}
	if body := string(server.Requests()[2].Body); !strings.Contains(body, "the task of here") ||
		strings.Contains(body, "elsewhere") {
		t.Errorf("the request is %s", body)
	}
	if out := h.run(0, "run", "--yes", "--continue", "and more"); out.stdout != "third\n" {
		t.Errorf("again: %q", out.stdout)
	}
	if list := h.sessions(); len(list) != 2 {
		t.Errorf("there are %d sessions, want 2", len(list))
	}
	for want, args := range map[string][]string{
		"cannot be used together":            {"--continue", "--resume", "x"},
		"cannot be used with --no-journal":   {"--continue", "--no-journal"},
		"--continue and --fork cannot":       {"--continue", "--fork", "x"},
		"cannot work in /nope: no such file": {"--continue", "--dir", "/nope"},
		"there is no session of / to":        {"--continue", "--dir", "/"},
	} {
		if out := h.run(exitUsage, append([]string{"run", "--yes"}, args...)...); !strings.Contains(out.stderr, want) {
			t.Errorf("%v: exit code %d, %s, want %q", args, out.code, out.stderr, want)
		}
	}
}
