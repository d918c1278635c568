package main

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

var install = flag.Bool("release.install", false, "install and run everything; about a minute of processor time")

const version = "v0.987.0"

// A release is made of what is committed here. By default it is only prepared, and the smallest
// program is installed.
func TestQ5_Release(t *testing.T) {
	checkout := cloneOfThis(t)
	write(t, filepath.Join(checkout, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n## 0.987.0 - 2026-12-01\n")
	gitIn(t, checkout, "commit", "--quiet", "--all", "--message", "changelog")
	before := state(t, checkout)
	var out strings.Builder
	r := release{version: version, checkout: checkout, dir: t.TempDir(), out: &out}
	steps := []func(context.Context) error{r.check, r.prepare, r.try, r.publishing}
	if !*install {
		steps[2] = func(ctx context.Context) error { return r.install(ctx, program{path: "cmd/attractor-env"}) }
	}
	for _, step := range steps {
		if err := step(t.Context()); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
	}
	t.Logf("%s", &out)
	for _, want := range []string{"go install " + library + "/cmd/attractor-env@" + version + ": ",
		"push --atomic https://" + library + " " + version + " cloud/" + version + " fleet/" + version + " otel/" +
			version + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, &out)
		}
	}
	for _, module := range released() {
		if mod := gitIn(t, r.clone(), "show", module+"/"+version+":"+module+"/go.mod"); strings.Contains(mod,
			"replace") || !strings.Contains(mod, library+" "+version+"\n") {
			t.Errorf("%s/go.mod cannot be installed:\n%s", module, mod)
		}
	}
	if after := state(t, checkout); after != before {
		t.Errorf("the checkout has changed from\n%s\nto\n%s", before, after)
	}
}

func TestQ5_RefusedReleases(t *testing.T) {
	peer.Need(t, "git")
	for name, c := range map[string]struct{ version, changelog, tag, changed, want string }{
		"no version":    {version: "0.1.0", want: `"0.1.0" is no version`},
		"a later major": {version: "v2.0.0", want: "module paths end with /v2"},
		"uncommitted":   {version: "v0.1.0", changed: "x", want: "not committed"},
		"an old tag":    {version: "v0.1.0", tag: "fleet/v0.1.0", want: "the tag fleet/v0.1.0 exists"},
		"no changelog": {version: "v0.1.0", changelog: "## Unreleased\n",
			want: `no heading "## 0.1.0 - YYYY-MM-DD"`},
		"another changelog": {version: "v0.1.0", changelog: "## 0.1.0-rc.1 - 2026-12-01\n## 0x1.0 - 2026-12-01\n",
			want: "no heading"},
		"in order": {version: "v0.1.0-rc.1", changelog: "## 0.1.0-rc.1 - 2026-12-01\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "CHANGELOG.md"), c.changelog)
			gitIn(t, dir, "init", "--quiet")
			gitIn(t, dir, "add", ".")
			gitIn(t, dir, "commit", "--quiet", "--message", "all")
			if c.tag != "" {
				gitIn(t, dir, "tag", c.tag)
			}
			if c.changed != "" {
				write(t, filepath.Join(dir, "CHANGELOG.md"), c.changed)
			}
			r := release{version: c.version, checkout: dir}
			if err := r.check(t.Context()); c.want == "" && err != nil || c.want != "" &&
				(err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// cloneOfThis returns a clone of what is committed here. It skips the test where this is not a
// checkout, or the module proxy does not answer.
func cloneOfThis(t *testing.T) string {
	t.Helper()
	peer.Need(t, "git")
	dir := filepath.Join(t.TempDir(), "checkout")
	if _, err := os.Stat("../../.git"); err != nil {
		t.Skipf("not a checkout of the repository: %v", err)
	}
	asking := exec.CommandContext(t.Context(), "go", "list", "-m", "-versions", "golang.org/x/sys")
	asking.Dir = t.TempDir()
	if _, err := output(asking); err != nil {
		peer.Missing(t, "the module proxy does not answer: %v", err)
	}
	gitIn(t, "../..", "clone", "--quiet", ".", dir)
	gitIn(t, dir, "remote", "set-url", "origin", "https://"+library)
	return dir
}

// state returns the commits, branches and tags of a checkout, and what is changed in it.
func state(t *testing.T, checkout string) string {
	t.Helper()
	return gitIn(t, checkout, "for-each-ref") + gitIn(t, checkout, "rev-parse", "HEAD") + gitIn(t, checkout, "status",
		"--porcelain", "--ignored")
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	for _, person := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+person+"_NAME", "A Tester")
		t.Setenv("GIT_"+person+"_EMAIL", "tester@example.com")
	}
	r := release{}
	printed, err := r.git(t.Context(), dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return printed
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
