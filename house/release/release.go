package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// library is the path of the root module.
const library = "github.com/attractor-go/attractor"

// released returns the directories of the modules that are released together with the library. The
// others only test it.
func released() []string { return []string{"cloud", "fleet", "otel"} }

// release is a release in the making.
type release struct {
	version  string // such as v0.1.0
	checkout string // whose HEAD is released
	dir      string // for the clone and what tries it
	out      io.Writer
}

func (r *release) clone() string { return filepath.Join(r.dir, "clone") }

// tags returns the library's tag and those of the other modules.
func (r *release) tags() (first string, others []string) {
	for _, module := range released() {
		others = append(others, module+"/"+r.version)
	}
	return r.version, others
}

// check returns an error that says why the commit that is checked out cannot become the version, if
// it cannot.
func (r *release) check(ctx context.Context) error {
	if !regexp.MustCompile(`^v[01]\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`).MatchString(r.version) {
		return fmt.Errorf("%q is no version that these modules can have: it needs the form v0.1.0 (from v2 on, "+
			"module paths end with /v2)", r.version)
	}
	changed, err := r.git(ctx, r.checkout, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the checkout has changes that are not committed, and would not be released:\n%s", changed)
	}
	first, others := r.tags()
	for _, tag := range append([]string{first}, others...) {
		found, err := r.git(ctx, r.checkout, "tag", "--list", tag)
		if err == nil && found != "" {
			err = fmt.Errorf("the tag %s exists; a version that was published never changes: choose the next one", tag)
		}
		if err != nil {
			return err
		}
	}
	return r.checkChangelog()
}

// checkChangelog returns an error if the changelog has no section for the version.
func (r *release) checkChangelog() error {
	data, err := os.ReadFile(filepath.Join(r.checkout, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	number := strings.TrimPrefix(r.version, "v")
	if !regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(number) + ` - \d{4}-\d\d-\d\d$`).Match(data) {
		return fmt.Errorf(`CHANGELOG.md has no heading "## %s - YYYY-MM-DD": give the heading of this version its date, and commit that`, number)
	}
	return nil
}

// prepare makes the clone with the release's commit and tags.
func (r *release) prepare(ctx context.Context) error {
	first, others := r.tags()
	if _, err := r.git(ctx, r.checkout, "clone", "--quiet", "--no-tags", ".", r.clone()); err != nil {
		return err
	}
	if _, err := r.git(ctx, r.clone(), "tag", first); err != nil {
		return err
	}
	for _, module := range released() {
		dir := filepath.Join(r.clone(), module)
		if _, err := r.command(ctx, dir, "go", "mod", "edit", "-dropreplace", library, "-require",
			library+"@"+r.version); err != nil {
			return err
		}
		if _, err := r.command(ctx, dir, "go", "mod", "download", library); err != nil {
			return err
		}
	}
	if _, err := r.git(ctx, r.clone(), "commit", "--quiet", "--all", "--message",
		"release: the modules require the library's "+r.version); err != nil {
		return err
	}
	for _, tag := range others {
		if _, err := r.git(ctx, r.clone(), "tag", tag); err != nil {
			return err
		}
	}
	return nil
}

// publishing prints what publishes the release.
func (r *release) publishing(ctx context.Context) error {
	origin, err := r.git(ctx, r.checkout, "config", "--default", "https://"+library, "--get", "remote.origin.url")
	if err != nil {
		return err
	}
	first, others := r.tags()
	_, err = fmt.Fprintf(r.out,
		"\n%s is ready and nothing is published. To publish it:\n\n  git -C %s push --atomic %s %s\n",
		r.version, r.clone(), strings.TrimSpace(origin), strings.Join(append([]string{first}, others...), " "))
	return err
}

// git runs git in a directory, with the user's own configuration, and returns what it prints.
func (r *release) git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	return output(cmd)
}

// output runs a command and returns what it prints. Its error has all that the command says.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s in %s: %w\n%s%s", strings.Join(cmd.Args, " "), cmd.Dir, err, stdout.String(),
			stderr.String())
	}
	return stdout.String(), nil
}
