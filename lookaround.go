package attractor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/rules"
)

// surroundings describes the place of a session on another machine.
type surroundings struct {
	home string   // the user's home directory there; empty if there is none
	top  string   // of the repository of the working directory; empty without one
	vars []string // the variables of commands, as NAME=value
}

const (
	lookTime = 30 * time.Second // for each look at another machine
	maxVars  = 1 << 20          // bytes of its variables
)

// lookScript prints the home directory, the top of the repository, both with a NUL at the end, and
// the variables. A .git above the directory counts only if it has the same owner as the directory,
// or root, because anybody can put one into /tmp.
const lookScript = `owner() { set -- $(ls -nd "$1" 2>/dev/null); echo "$3"; }
printf '%s\0' "$HOME"
at=$(pwd) mine=$(owner .)
while [ -n "$at" ]; do
	if [ -e "$at/.git" ]; then
		o=$(owner "$at/.git")
		if [ "$at" = "$(pwd)" ] || [ "$o" = "$mine" ] || [ "$o" = 0 ]; then break; fi
	fi
	at=${at%/*}
done
printf '%s\0' "$at"
env`

// lookAround asks the shell over there for the surroundings of a session. They are empty where no
// command can be run.
func lookAround(ctx context.Context, e env.Environment) (s surroundings, err error) {
	out, exit, err := runThere(ctx, e, lookScript, maxVars)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("the shell there cannot be asked where it is: %w", err)
	}
	home, rest, ok := bytes.Cut(out, []byte{0})
	top, variables, whole := bytes.Cut(rest, []byte{0})
	if !ok || !whole || exit.Code != 0 {
		return s, fmt.Errorf("the shell there was asked where it is, and exited with code %d", exit.Code)
	}
	if s.home = string(home); !path.IsAbs(s.home) {
		s.home = ""
	}
	s.top = string(top)
	for line := range strings.Lines(string(variables)) {
		s.vars = append(s.vars, strings.TrimSuffix(line, "\n"))
	}
	return s, nil
}

// readThere returns the content of a file that the environment does not open, because it is outside
// of the session's directories.
func readThere(ctx context.Context, e env.Environment, name string) ([]byte, error) {
	const absent = 41
	out, exit, err := runThere(ctx, e, fmt.Sprintf("[ -e %s ] || exit %d\n[ -f %[1]s ] || exit 1\nexec cat <%[1]s",
		shquote.Words(name), absent), rules.MaxFile+1)
	switch {
	case err != nil:
	case exit.Code == absent:
		err = fs.ErrNotExist
	case exit.Code != 0:
		err = fs.ErrPermission
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return out, nil
}

// runThere runs a script and returns the beginning of what it prints.
func runThere(ctx context.Context, e env.Environment, script string, limit int) (out []byte, exit env.Exit, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	result, err := env.Run(ctx, e, env.Command{Script: script, Output: func(stream int, text []byte) {
		if stream == env.Stdout {
			out = append(out, text[:min(len(text), limit-len(out))]...)
		}
	}}, env.MaxTimeout)
	return out, result.Exit, err
}
