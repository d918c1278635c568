package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// failed is the error of a command that tries out a level: its output and how it ended.
type failed struct{ output, how string }

func (f failed) Error() string { return strings.TrimSpace(f.output + ": " + f.how) }

// try runs a command in a sandbox and returns an error if it fails. The command has an environment
// of its own, which ends all of its processes, even if this process or only bubblewrap's first one
// is killed meanwhile.
func try(dir string, m mechanism) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*probeTime) // the environment needs time for the end
	defer cancel()
	local, err := env.NewLocal(dir, env.LocalOptions{Launch: m.launch, UserNamespaces: m.userNamespaces(), Grace: -1,
		Environ: []string{"PATH=/usr/bin:/bin"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	out, result, err := env.Output(ctx, local, env.Command{Script: "exit 0"}, probeTime)
	switch {
	case err != nil:
		return err
	case result.TimedOut:
		return failed{out, fmt.Sprintf("it takes more than %v", probeTime)}
	case result.Signal != "":
		return failed{out, "it was ended by " + result.Signal}
	case result.Code != 0:
		return failed{out, fmt.Sprintf("exit status %d", result.Code)}
	}
	return nil
}
