package attractor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/shellenv"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/texts"
)

// openShell opens an environment behind a command that needs only a shell there. An empty directory
// means the one in which the shell starts.
func openShell(ctx context.Context, command []string, dir string) (*shellenv.Env, error) {
	prefix, err := shellPrefix(ctx, command)
	if err != nil {
		return nil, err
	}
	if !path.IsAbs(dir) {
		script := "pwd"
		if dir != "" {
			script = "cd ./" + shquote.Words(path.Clean(dir)) + " && pwd"
		}
		if dir, err = lastLine(ctx, prefix, script); err != nil {
			return nil, err
		}
	}
	return shellenv.New(ctx, prefix, dir)
}

// shellPrefix returns the words after which one more word is a script for the shell there. There
// are two kinds of commands. Those like docker exec run the words that follow them. Those like ssh
// give them, with spaces between them, to a shell, which reads them as a script.
func shellPrefix(ctx context.Context, command []string) ([]string, error) {
	const word = "two words"
	words := append(slices.Clip(command), "sh", "-c")
	out, err := lastLine(ctx, words, "echo $0", word)
	if err == nil && out == word {
		return words, nil
	}
	if out, shellErr := lastLine(ctx, command, "echo '"+word+"'"); shellErr == nil && out == word {
		return slices.Clip(command), nil
	}
	if err == nil {
		err = errors.New("it runs no shell there")
	}
	return nil, err
}

// maxComplaint limits the lines of what a command says of its failure.
const maxComplaint = 5

// lastLine runs a command of this machine, and returns the last line that it prints.
func lastLine(ctx context.Context, command []string, more ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(slices.Clip(command[1:]), more...)...)
	var out, complaint texts.Tail
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &complaint, env.DefaultGrace
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", command[0], err, oneLine(complaint.Last(maxComplaint)))
	}
	return out.String(), nil
}
