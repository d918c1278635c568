package shellenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Env is an env.Environment in a remote directory. It is safe for concurrent use.
type Env struct {
	prefix   []string
	dir      string
	platform env.Platform
	prelude  string     // the beginning of every script
	local    *env.Local // runs the local ends of commands
	live     sync.Map   // of *process: commands that may still have processes
}

var (
	_ env.Environment = (*Env)(nil)
	_ env.Replacer    = (*Env)(nil)
	_ env.Resolver    = (*Env)(nil)
	_ env.Confined    = (*Env)(nil)
	_ env.Tree        = (*Env)(nil)
)

// New returns an environment in a remote directory, which must exist; dir is its absolute path
// there. Prefix is a local command that runs its last argument in a remote POSIX shell. The caller
// must call Close.
func New(ctx context.Context, prefix []string, dir string) (*Env, error) {
	if !path.IsAbs(dir) {
		return nil, fmt.Errorf("the remote directory %q is not an absolute path", dir)
	}
	e := &Env{prefix: prefix, dir: path.Clean(dir), prelude: absentFunction}
	out, err := e.run(ctx, "open", dir, probeScript, nil)
	if err != nil {
		return nil, fmt.Errorf("remote environment: %w", err)
	}
	lines := strings.Split(out, "\n")
	if len(lines) < 5 {
		return nil, fmt.Errorf("the remote directory %q: the shell there did not describe its system: %q", dir, out)
	}
	e.platform = env.Platform{OS: strings.ToLower(lines[0]), Arch: lines[1], Version: lines[0] + " " + lines[2],
		Shell: lines[3]}
	e.prelude += lines[4] + "\n"
	e.local, err = env.NewLocal("/", env.LocalOptions{Containment: env.ContainGroup}) // docker and ssh do not run away
	return e, err
}

// probeScript prints the platform, and the options that make stat print type and mode in
// hexadecimal, size, time and name. Two slashes, which no name contains, end a record.
const probeScript = `cd "$f" || absent "$f"
uname -s && uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/' && uname -r && { command -v bash || command -v sh; } || exit
if stat -c %f / >/dev/null 2>&1
then echo "stat='stat -c' format='%f %s %Y %n//'"
else echo "stat='stat -f' format='%Xp %z %m %N//'"
fi`

// absentFunction exits with the reason why $1 does not exist.
const absentFunction = `absent() {
	d=${1%/*}
	[ -n "$d" ] || exit 41
	if [ -d "$d" ]; then [ -x "$d" ] && exit 41; exit 42; fi
	[ ! -e "$d" ] || exit 43
	absent "$d"
}
`

// reason returns the error for an exit code of the scripts. Shells, docker and ssh have codes of
// their own from 125 on.
func reason(code int, complaint []byte) error {
	switch code {
	case 41:
		return fs.ErrNotExist
	case 42:
		return fs.ErrPermission
	case 43:
		return fmt.Errorf("not of the kind that is needed here, a file or a directory: %w", fs.ErrInvalid)
	case 44:
		return fmt.Errorf("the directory is not empty: %w", fs.ErrExist)
	case 46:
		return fmt.Errorf("it needs flock and sha256sum there: %w", errors.ErrUnsupported)
	case 47:
		return env.ErrChanged
	case 48:
		return fs.ErrExist
	}
	return fmt.Errorf("exit code %d: %s", code, bytes.TrimSpace(complaint))
}

// command returns the local command that runs a script remotely, with f set to the absolute path of
// name.
func (e *Env) command(name, body string) ([]string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return nil, fs.ErrInvalid
	}
	if !path.IsAbs(name) {
		name = e.dir + "/" + name
	}
	return append(e.prefix[:len(e.prefix):len(e.prefix)], "f="+shquote.Words(name)+"\n"+e.prelude+body), nil
}

// run runs a script for a name and returns its output.
func (e *Env) run(ctx context.Context, op, name, body string, stdin []byte) (string, error) {
	command, err := e.command(name, body)
	if err = errors.Join(context.Cause(ctx), err); err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	out, complaint := capped{most: maxOutput}, capped{most: maxComplaint}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, &complaint
	cmd.WaitDelay = env.DefaultGrace // another process may hold the output open
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); out.full {
		err = fmt.Errorf("more than %d MiB arrived from there", maxOutput>>20)
	} else if errors.As(err, &exit) {
		err = reason(exit.ExitCode(), complaint.text.Bytes())
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return out.text.String(), nil
}

// These limit what a script may print, in bytes: the content of a file or the list of a directory,
// and the complaints of programs.
const (
	maxOutput    = 256 << 20
	maxComplaint = 64 << 10
)

// capped is a buffer that refuses to hold more than some number of bytes.
type capped struct {
	text bytes.Buffer
	most int
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if c.full = c.full || c.text.Len()+len(p) > c.most; c.full {
		return 0, io.ErrShortWrite
	}
	return c.text.Write(p)
}

// WorkDir implements env.Environment.
func (e *Env) WorkDir() string { return e.dir }

// Confinement implements env.Confined. The grace time is that which killScript waits.
func (e *Env) Confinement() env.Confinement { return env.Confinement{KillGrace: env.DefaultGrace} }

// Platform implements env.Environment.
func (e *Env) Platform() env.Platform { return e.platform }
