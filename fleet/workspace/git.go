package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// git runs git on a repository of the worker's own, which no task can reach. It ignores the
// configuration of the user and of the machine, and runs nothing that a repository brings.
type git struct {
	dir     string // a bare repository
	environ []string
	hide    []string // secrets, which no error shows
}

// hardening holds settings for git in a repository of somebody else: no hooks, no filters' helpers,
// no prompts, no maintenance behind our back.
var hardening = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "core.untrackedCache=false", "gc.auto=0",
	"maintenance.auto=false", "submodule.recurse=false", "fetch.recurseSubmodules=false", "credential.helper=",
	"core.autocrlf=false", "core.symlinks=true", "core.fileMode=true", "advice.detachedHead=false",
	"init.defaultBranch=main", "safe.directory=*", "log.showSignature=false", "diff.external=",
	"diff.noprefix=false", "diff.mnemonicPrefix=false",
}

// quiet holds variables for every git: no prompts, no configuration, plain output.
var quiet = []string{
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_NO_REPLACE_OBJECTS=1",
	"GIT_PAGER=cat", "LC_ALL=C",
}

// passed names the variables of this process that git needs.
var passed = []string{"PATH", "TMPDIR", "http_proxy", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY", "all_proxy",
	"ALL_PROXY"}

// newGit returns a git for a directory, with settings (key=value) beside the usual ones. Home is an
// empty directory.
func newGit(dir, home string, settings ...string) *git {
	return newGitWith(dir, home, slices.Concat(hardening, settings))
}

// newGitWith returns a git with only the given settings.
func newGitWith(dir, home string, settings []string) *git {
	g := &git{dir: dir, environ: slices.Concat(quiet, []string{"HOME=" + home, "GIT_DIR=" + dir})}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			g.environ = append(g.environ, name+"="+v)
		}
	}
	g.environ = append(g.environ, configVars(settings)...)
	return g
}

// configVars returns settings as variables, because other users can see the arguments of git.
func configVars(settings []string) []string {
	vars := []string{fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(settings))}
	for i, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		if at := strings.LastIndex(s, ".extraHeader="); at >= 0 { // the key has a URL in which there may be a =
			key, value = s[:at+len(".extraHeader")], s[at+len(".extraHeader="):]
		}
		vars = append(vars, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, key),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, value))
	}
	return vars
}

// with returns g with more variables.
func (g *git) with(vars ...string) *git {
	return &git{dir: g.dir, environ: slices.Concat(g.environ, vars), hide: g.hide}
}

// gitError says how a command of git failed.
type gitError struct {
	command string
	stderr  string // masked
	err     error
}

// Error implements error.
func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: %s", e.command, cmp.Or(lastLines(e.stderr, 3), e.err.Error()))
}

func (e *gitError) Unwrap() error { return e.err }

// waitDelay is how long a git that was killed has to end.
const waitDelay = 5 * time.Second

// run runs git. Out, if not nil, gets what it prints.
func (g *git) run(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env, cmd.Stdin, cmd.Stdout = g.environ, in, out
	stderr := &tail{max: 16 << 10}
	cmd.Stderr = stderr
	cmd.WaitDelay = waitDelay
	endGroup(cmd)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("workspace: git is not installed on the worker's machine: %w", err)
	}
	return &gitError{command: args[0], stderr: mask(stderr.String(), g.hide), err: err}
}

// output returns what git prints, without the line break at the end.
func (g *git) output(ctx context.Context, args ...string) (string, error) {
	var out bytes.Buffer
	to := &limited{to: &out, left: maxOutput}
	err := g.run(ctx, nil, to, args...)
	if to.left < 0 { // the error of git is only that of its output
		err = errTooMuch
	}
	return strings.TrimSuffix(out.String(), "\n"), err
}

// treeFile is a file of a commit.
type treeFile struct {
	mode, name string // as git has them
	size       int64  // 0 for a submodule
	path       string
}

// The modes of links and submodules.
const (
	modeLink   = "120000"
	modeModule = "160000"
)

// files returns the files of a commit or tree.
func (g *git) files(ctx context.Context, commit string) (list []treeFile, err error) {
	out, err := g.output(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
	for line := range strings.SplitSeq(out, "\x00") {
		meta, path, _ := strings.Cut(line, "\t")
		if fields := strings.Fields(meta); len(fields) == 4 {
			size, _ := strconv.ParseInt(fields[3], 10, 64) // a submodule has none
			list = append(list, treeFile{fields[0], fields[2], size, path})
		}
	}
	return list, err
}

// maxOutput bounds the output of git that is read into memory, in bytes.
const maxOutput = 64 << 20

// tail keeps the end of what is written to it.
type tail struct {
	data []byte
	max  int
}

func (t *tail) Write(p []byte) (int, error) {
	t.data = append(t.data, p...)
	if len(t.data) > 2*t.max {
		t.data = append(t.data[:0], t.data[len(t.data)-t.max:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.data[max(0, len(t.data)-t.max):]) }

// limited is a writer that fails after left bytes.
type limited struct {
	to   io.Writer
	left int64
}

// errTooMuch says that a command printed more than it may.
var errTooMuch = errors.New("workspace: there is more output than fits")

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errTooMuch
	}
	return l.to.Write(p)
}

// mask replaces secrets in a text.
func mask(text string, secrets []string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[hidden]")
		}
	}
	return text
}

// lastLines returns the last n lines of a text that are not empty, without control characters, and
// at most 1,000 bytes of them.
func lastLines(text string, n int) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r", "\n"), "\n") {
		line = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f {
				return -1
			}
			return r
		}, strings.TrimSpace(line))
		if line = strings.TrimPrefix(strings.TrimPrefix(line, "fatal: "), "error: "); line != "" &&
			!strings.HasPrefix(line, "hint:") {
			lines = append(lines, line)
		}
	}
	out := strings.Join(lines[max(0, len(lines)-n):], "; ")
	return strings.ToValidUTF8(out[:min(len(out), 1000)], "")
}
