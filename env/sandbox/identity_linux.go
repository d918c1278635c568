package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/lookpath"
)

// identity gives commands the parts of the user's git configuration that commits need. The rest,
// such as credential helpers, stays outside.
func (b *bubblewrap) identity(dir, home string) error {
	git, err := b.options.find("git")
	if err != nil || home == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "config", "--global", "--includes", "--null", "--list")
	cmd.Dir, cmd.Env = dir, b.options.ofGit()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return nil // there is no configuration
	}
	var text strings.Builder
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(entry, "\n")
		section, key, _ := strings.Cut(name, ".")
		if slices.Contains(shared, name) {
			fmt.Fprintf(&text, "[%s]\n\t%s = %s\n", section, key, quoted(value))
		}
	}
	if text.Len() == 0 {
		return nil
	}
	return os.WriteFile(b.private.path("home/.gitconfig"), []byte(text.String()), 0o600)
}

// ofGit returns the variables of git that runs outside of the sandbox: no keys are among them.
func (o *Options) ofGit() (vars []string) {
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME"} {
		if value := getenv(o.Environ, name); value != "" {
			vars = append(vars, name+"="+value)
		}
	}
	return append(vars, "PATH="+lookpath.Outside(getenv(o.Environ, "PATH"), o.roots()...), "LC_ALL=C")
}

// shared lists the settings of git that commands in a sandbox get. None names a program.
var shared = []string{"user.name", "user.email", "init.defaultbranch", "core.autocrlf", "core.eol", "core.quotepath",
	"pull.rebase", "merge.conflictstyle",
	"diff.algorithm", "push.default", "safe.directory"}

// quoted returns a value in the form of git's configuration files.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}
