package worktree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/internal/lookpath"
)

const (
	gitTime    = 10 * time.Minute // for one call of git, which may check out a large repository
	statusTime = time.Minute      // to look what has changed, for which the end of a session waits
	maxOutput  = 16 << 20         // bytes that are read of its answer
)

// noObjects is a place from which the filter of Git LFS, if the user has it, gets nothing: else the
// repository would say from where. As its url.*.insteadOf still counts, there is no ssh either,
// whose program it could name. What is in the repository needs no download.
const noObjects = "file:///dev/null"

// runner calls git.
type runner struct {
	program  string
	environ  []string
	dir      string        // Options.Dir, absolute
	patience time.Duration // statusTime, but in tests
}

// newRunner returns a runner and the repository, if git starts nothing there that the repository
// has.
func newRunner(ctx context.Context, o Options) (*runner, *git.Repository, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, nil, err
	}
	roots := git.Roots(dir)
	if len(roots) == 0 {
		return nil, nil, fmt.Errorf("%s is not in a git repository, so it can have no worktree", dir)
	}
	g := &runner{dir: dir, patience: statusTime}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if g.environ, g.program, err = environ(o.Environ,
		slices.Concat(roots, git.WorkTrees(dir, os.Getenv("HOME")))); err != nil {
		return nil, nil, err
	}
	repo, why, err := g.find(ctx, dir)
	if err == nil && why != "" {
		err = fmt.Errorf("git may start a program in this repository, because %s; to make a worktree all the "+
			"same, run: git worktree add -b BRANCH DIR", why)
	}
	return g, repo, err
}

// environ returns the variables of git, and the path of git. Nothing in PATH that is in the
// repository counts.
func environ(vars, roots []string) (list []string, program string, err error) {
	for _, v := range vars {
		switch key, value, _ := strings.Cut(v, "="); {
		case strings.HasPrefix(key, "GIT_"):
			continue
		case strings.EqualFold(key, "PATH"):
			v = key + "=" + lookpath.Outside(value, roots...)
			program, err = lookpath.Find("git", value, roots...)
		}
		list = append(list, v)
	}
	if program == "" {
		return nil, "", errors.Join(errors.New("a worktree needs git"), err)
	}
	return append(list, "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_SSH_COMMAND=false"), program, nil
}

// find returns the repository of a directory, and why git may start a program there, or "".
func (g *runner) find(ctx context.Context, dir string) (repo *git.Repository, why string, err error) {
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup, Roots: git.Roots(dir)})
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	files := git.Files{Env: local}
	if repo, why = files.Find(ctx, dir); why == "" {
		_, why = files.Starts(ctx, repo)
	}
	return repo, why, nil
}

// changes counts the paths with changes that are not committed, and those that are new. It gives up
// where git waits, as for a FIFO that a command has put in the place of a .gitignore.
func (g *runner) changes(ctx context.Context, dir string) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.patience,
		fmt.Errorf("after %v it is not known what has changed; a file may be a FIFO, which never ends", g.patience))
	defer cancel()
	out, err := g.output(ctx, dir, "status", "--porcelain", "--ignore-submodules=all")
	return strings.Count(out, "\n") + min(len(out), 1), err
}

// output runs git in a directory and returns what it prints, without the line break at the end.
func (g *runner) output(ctx context.Context, dir string, args ...string) (string, error) {
	return g.call(ctx, dir, "", (*exec.Cmd).Run, args...)
}

// within is output for a command that changes files in the given directories only, where the kernel
// can keep it from others: a command of a session may swap a directory of the repository for a link
// meanwhile.
func (g *runner) within(ctx context.Context, dirs []string, dir string, args ...string) (string, error) {
	return g.call(ctx, dir, "", func(cmd *exec.Cmd) error { return runWithin(cmd, dirs) }, args...)
}

// call runs git with a standard input by a function, and returns what it prints, without the line
// break at the end.
func (g *runner) call(ctx context.Context, dir, input string, run func(*exec.Cmd) error,
	args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	off, err := g.hooksOff(ctx, dir)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, g.program, slices.Concat([]string{"-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.fsmonitor=false", "-c", "protocol.allow=never", "-c", "submodule.recurse=false",
		"-c", "safe.bareRepository=explicit", "-c", "lfs.url=" + noObjects, "-c", "lfs.skipdownloaderrors=true",
		"-c", "worktree.useRelativePaths=false"}, args)...) // else git changes the configuration of the repository
	cmd.Dir, cmd.Env = dir, slices.Concat(g.environ, off)
	cmd.Stdin, cmd.WaitDelay = strings.NewReader(input), 5*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // git removes what is half done
	out, said := &limited{}, &limited{}
	cmd.Stdout, cmd.Stderr = out, said
	err = run(cmd)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	case err != nil && said.Len() > 0:
		return "", fmt.Errorf("git %s: %s", args[0], strings.TrimSpace(said.String()))
	case err != nil:
		return "", fmt.Errorf("git %s: %w", args[0], err)
	case out.over:
		return "", fmt.Errorf("git %s printed more than %d bytes", args[0], maxOutput)
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// hooksOff returns variables that turn off the hooks that the configuration names, which git has
// from version 2.54 on and runs whatever core.hooksPath is: those of the user's for all
// repositories may name files of this one.
func (g *runner) hooksOff(ctx context.Context, dir string) (vars []string, err error) {
	cmd := exec.CommandContext(ctx, g.program, "config", "--null", "--name-only", "--get-regexp", `^hook\..*\.command$`)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, g.environ, 5*time.Second
	names, err := cmd.Output()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == 1 { // there are none
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("git config: %w", cmp.Or(context.Cause(ctx), err))
	}
	n := 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		key := strings.TrimSuffix(name, "command") + "enabled"
		vars = append(vars, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=false", n))
		n++
	}
	return append(vars, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n)), nil
}

// limited keeps the first bytes of what is written to it.
type limited struct {
	bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = l.over || l.Len()+len(p) > maxOutput; !l.over {
		l.Buffer.Write(p)
	}
	return len(p), nil
}
