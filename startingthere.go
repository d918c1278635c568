package attractor

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/userfiles"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/trust"
)

// starting returns the files on the session's machine that start programs because something there
// says so: what git runs by the configuration of the repository and of the user there, and the
// directories of PATH. A change of one needs an approval, because a container may show directories
// of this machine. exposed says what may run any file; see [env.Exposed]. The roots are the
// session's directories there. Repositories inside of them, and links elsewhere that lead there,
// are not looked for, because each look takes time.
func (f *elsewhere) starting(ctx context.Context, roots []string) (names []string, exposed string) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	tops := slices.Clone(roots)
	if f.top != "" && !slices.Contains(tops, f.top) {
		tops = append(tops, f.top)
	}
	for _, top := range tops {
		byGit, by := f.runByGit(ctx, top)
		names, exposed = append(names, byGit...), cmp.Or(exposed, by)
	}
	for _, dir := range strings.Split(f.variable("PATH"), ":") {
		if !path.IsAbs(dir) {
			dir = path.Join(f.machine.WorkDir(), dir)
		}
		names = append(names, path.Clean(dir))
	}
	// everything in a directory of the session would ask
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains(tops, name) || slices.ContainsFunc(tops, func(top string) bool {
			return isBelow([]string{name}, top)
		})
	}), exposed
}

// runByGit returns the files from which git takes what it runs in a work tree there, as they are
// named and where that leads, and those that the commands of its configuration name. exposed says
// which hook may run any file.
func (f *elsewhere) runByGit(ctx context.Context, top string) (names []string, exposed string) {
	in := f.documents()
	files := git.Files{Env: in, Outside: func(ctx context.Context, name string) ([]byte, error) {
		return readThere(ctx, f.machine, name)
	}}
	named := files.Named(ctx, top, f.variable)
	for _, name := range append(named.Files, named.Hooks...) {
		names = append(names, path.Clean(name))
		if real, err := env.Resolve(ctx, in, name); err == nil {
			names = append(names, real)
		}
	}
	if slices.Contains(names, top) { // of which not everything asks
		names = append(names, userfiles.Slashed(git.HooksIn(top))...)
	}
	commands := append(named.Commands, named.Aliases...)
	commands = commands[:min(len(commands), maxGitCommands)]
	if exposed = f.exposedByHooks(ctx, named.Hooks); exposed == "" && named.Unclear != "" {
		exposed = exposes("a program of git's configuration", named.Unclear)
	}
	return append(names, trust.NamedBy(top, f.home, commands)...), exposed
}

// exposedByHooks returns which of the hooks in directories there may run any file.
func (f *elsewhere) exposedByHooks(ctx context.Context, dirs []string) string {
	for _, dir := range dirs {
		hooks, err := f.hooks(ctx, dir)
		if err != nil {
			return exposes("a hook of git in "+dir, err.Error())
		}
		for _, hook := range hooks {
			if text, err := readThere(ctx, f.machine, hook); err != nil || !git.OnlyLFS(text) {
				return exposes("the hook of git "+hook, "")
			}
		}
	}
	return ""
}

// hooks returns the programs in a directory there, which may lie outside of those of the session.
func (f *elsewhere) hooks(ctx context.Context, dir string) (hooks []string, err error) {
	out, _, err := runThere(ctx, f.machine, fmt.Sprintf(
		`for hook in %s/*; do if [ -f "$hook" ] && [ -x "$hook" ]; then printf '%%s\0' "$hook"; fi; done`,
		shquote.Words(dir)), rules.MaxFile)
	if err != nil {
		return nil, err
	}
	for hook := range strings.SplitSeq(string(out), "\x00") {
		if path.Ext(hook) != ".sample" && hook != "" {
			hooks = append(hooks, hook)
		}
	}
	return hooks, nil
}

// variable returns the value of a variable of commands there.
func (f *elsewhere) variable(name string) string {
	for _, entry := range f.vars {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
