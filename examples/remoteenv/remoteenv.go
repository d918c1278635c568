package remoteenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Env is a directory in another place. It is safe for concurrent use.
type Env struct {
	prefix   []string
	dir      string
	platform env.Platform
	prelude  string     // what every script begins with
	local    *env.Local // runs the near ends of commands
	live     sync.Map   // of *process: those of which something may run
}

var (
	_ env.Environment = (*Env)(nil)
	_ env.Replacer    = (*Env)(nil)
	_ env.Resolver    = (*Env)(nil)
	_ env.Graceful    = (*Env)(nil)
	_ env.Tree        = (*Env)(nil)
)

// New makes the environment of a directory, an absolute path there, which must exist. Prefix is the command that runs its last
// argument in a POSIX shell there. Close ends what was started.
func New(ctx context.Context, prefix []string, dir string) (*Env, error) {
	e := &Env{prefix: prefix, dir: path.Clean(dir), prelude: absentFunction}
	out, err := e.run(ctx, "open", dir, probeScript, nil)
	lines := strings.Split(out, "\n")
	if err != nil || len(lines) < 5 || !path.IsAbs(dir) {
		return nil, fmt.Errorf("remote environment in %q, which must be an absolute path there: %q, %w", dir, out, err)
	}
	e.platform = env.Platform{OS: strings.ToLower(lines[0]), Arch: lines[1], Version: lines[0] + " " + lines[2], Shell: lines[3]}
	e.prelude += lines[4] + "\n"
	e.local, err = env.NewLocal("/", env.LocalOptions{Containment: env.ContainGroup}) // docker and ssh do not run away
	return e, err
}

// probeScript tells the platform, and how to have stat print type and mode in hexadecimal, size, time and name. Two slashes end a
// record, which no name contains.
const probeScript = `cd "$f" || absent "$f"
uname -s && uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/' && uname -r && { command -v bash || command -v sh; } || exit
if stat -c %f / >/dev/null 2>&1
then echo "stat='stat -c' format='%f %s %Y %n//'"
else echo "stat='stat -f' format='%Xp %z %m %N//'"
fi`

// absentFunction ends a script with the reason why $1 is not there.
const absentFunction = `absent() {
	d=${1%/*}
	[ -n "$d" ] || exit 41
	if [ -d "$d" ]; then [ -x "$d" ] && exit 41; exit 42; fi
	[ ! -e "$d" ] || exit 43
	absent "$d"
}
`

// reason returns what the scripts' exit codes mean. Shells, docker and ssh have codes of their own from 125 on.
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

// command returns the command of this machine that runs one of our scripts there, with f set to the absolute path of name.
func (e *Env) command(name, body string) ([]string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return nil, fs.ErrInvalid
	}
	if !path.IsAbs(name) {
		name = e.dir + "/" + name
	}
	return append(e.prefix[:len(e.prefix):len(e.prefix)], "f="+quote(name)+"\n"+e.prelude+body), nil
}

// quote makes words of a shell of any texts.
func quote(texts ...string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return strings.Join(words, " ")
}

// run runs one of our scripts for a name and returns what it prints.
func (e *Env) run(ctx context.Context, op, name, body string, stdin []byte) (string, error) {
	command, err := e.command(name, body)
	if err = errors.Join(context.Cause(ctx), err); err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.WaitDelay = env.DefaultGrace // for who holds the output open when the context has ended
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = reason(exit.ExitCode(), exit.Stderr)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return string(out), nil
}

// WorkDir implements env.Environment.
func (e *Env) WorkDir() string { return e.dir }

// KillGrace implements env.Graceful: what killScript waits.
func (e *Env) KillGrace() time.Duration { return env.DefaultGrace }

// Platform implements env.Environment.
func (e *Env) Platform() env.Platform { return e.platform }
