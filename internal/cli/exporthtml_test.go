//go:build unix

package cli

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// exportedHome returns a home with one session, which has printed the provider's key in a long
// output, and its id.
func exportedHome(t *testing.T) (h *home, id string) {
	url, _ := serve(t, nil, say("",
		use("shell", map[string]any{"command": "printf 'x%.0s' $(seq 90000); echo; echo key-of-a-test '</script>'"})),
		fakellm.Turn{Text: "done"})
	h = newHome(t, url)
	h.run(0, "run", "--yes", "the task")
	return h, h.sessions()[0].ID
}

// names returns the names of the files in the working directory.
func (h *home) names() string {
	h.Helper()
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		h.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// The page goes to a file that only its owner can read, or to standard output. An existing file is
// replaced, but not one to which a link leads.
func TestN5_ExportHTML(t *testing.T) {
	h, id := exportedHome(t)
	away := t.TempDir()
	profile := filepath.Join(away, "profile")
	if err := errors.Join(os.WriteFile(filepath.Join(h.dir, "old.html"), []byte("old"), 0o644),
		os.WriteFile(profile, []byte("mine"), 0o644), os.Symlink(profile, filepath.Join(h.dir, "link.html")),
		os.Symlink(profile, filepath.Join(h.dir, "-")), os.Symlink(away, filepath.Join(h.dir, "out"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.html", "out/new.html", filepath.Join(h.dir, "link.html")} {
		if got := h.run(exitUsage, "sessions", "export", id, "--html", name); !strings.Contains(got.stderr,
			"symbolic link to "+away) {
			t.Errorf("%s: %s", name, got.stderr)
		}
	}
	if list, err := os.ReadDir(away); err != nil || len(list) != 1 {
		t.Errorf("made %v, %v", list, err)
	}
	if data, err := os.ReadFile(profile); err != nil || string(data) != "mine" {
		t.Errorf("the file behind a link has %q, %v", data, err)
	}
	for _, name := range []string{"new.html", "old.html"} {
		if out := h.run(0, "sessions", "export", id[:12], "--html", name); out.stdout != "" {
			t.Errorf("%s: standard output has %q", name, out.stdout)
		}
	}
	if got := h.names(); got != "- link.html new.html old.html out" {
		t.Errorf("the directory has %s", got)
	}
	printed := h.run(0, "sessions", "export", id, "--html", "-").stdout
	for name, page := range map[string]string{"new.html": "", "old.html": "", "-": printed} {
		if name != "-" {
			info, err := os.Lstat(filepath.Join(h.dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != 0o600 {
				t.Errorf("%s has mode %v", name, info.Mode())
			}
			page = h.text(name)
		}
		if !strings.HasPrefix(page, "<!doctype html>") || !strings.HasSuffix(page, "</html>\n") ||
			strings.Contains(page, "key-of-a-test") ||
			!strings.Contains(page, `data-kind="rows" data-session="`+id+`"`) ||
			!strings.Contains(page, `data-kind="output"`) {
			t.Errorf("%s is not the page: %d bytes", name, len(page))
		}
	}
}

// text returns the text of a file in the working directory.
func (h *home) text(name string) string {
	h.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.Fatal(err)
	}
	return string(data)
}

// An export that fails says why, and leaves what was there.
func TestN5_ExportHTMLFails(t *testing.T) {
	h, id := exportedHome(t)
	h.file("old.html", "old")
	if err := os.Mkdir(filepath.Join(h.dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		code int
		says string
		args []string
	}{
		{exitFailed, "d is not a regular file", []string{id, "--html", "d"}},
		{exitFailed, os.DevNull + " is not a regular file", []string{id, "--html", os.DevNull}},
		{exitFailed, "no such file or directory", []string{id, "--html", "none/x.html"}},
		{exitUsage, "needs the name of a file", []string{id, "--html", ""}},
		{exitUsage, "there is no session", []string{"none", "--html", "old.html"}},
	}
	for _, c := range cases {
		if out := h.run(c.code, append([]string{"sessions", "export"}, c.args...)...); !strings.Contains(out.stderr,
			c.says) {
			t.Errorf("%q: %s", c.args, out.stderr)
		}
	}
	if h.text("old.html") != "old" || h.names() != "d old.html" {
		t.Errorf("the directory has %s", h.names())
	}
}

// A page opens the session that it is about.
func TestN5_ExportHTMLOpensTheSession(t *testing.T) {
	h, id := exportedHome(t)
	var notes struct{ Session string }
	_, text, _ := strings.Cut(h.run(0, "sessions", "export", id, "--html", "-").stdout, `data-kind="export">`)
	text, _, _ = strings.Cut(text, "</script>")
	if err := json.Unmarshal([]byte(text), &notes); err != nil || notes.Session != id {
		t.Errorf("the page opens %q: %v", notes.Session, err)
	}
}

// A failed write keeps the file that was there and leaves nothing beside it.
func TestN5_ReplaceFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := replaceFile(name, func(w io.Writer) error {
		if _, err := w.Write([]byte("half")); err != nil {
			return err
		}
		return fs.ErrInvalid
	})
	data, readErr := os.ReadFile(name)
	entries, dirErr := os.ReadDir(filepath.Dir(name))
	if err == nil || readErr != nil || dirErr != nil || string(data) != "old" || len(entries) != 1 {
		t.Errorf("%v %v %v: %q, %d files", err, readErr, dirErr, data, len(entries))
	}
}

// A file may have the longest name that its directory takes.
func TestN5_ReplaceFileOfALongName(t *testing.T) {
	name := filepath.Join(t.TempDir(), strings.Repeat("n", 255))
	if err := replaceFile(name,
		func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(name); err != nil || string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}
