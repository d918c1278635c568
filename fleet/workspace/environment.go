package workspace

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/shquote"
)

// Environment describes a place where tasks work. Without a Command that is a directory of this
// machine.
//
// In the words of commands and in Dir, {task} and {tenant} stand for those of the task, and {name}
// for a short name that no other task has.
type Environment struct {
	// Command is the prefix of commands that run in the place, such as docker exec -i {name} or ssh
	// host. See [remote.Dial].
	Command []string `json:"command,omitempty"`
	// Create makes the place before it is first used, and Destroy removes it afterwards, and also
	// before Create, in case an owner that has died left it behind. Both run on this machine.
	Create  []string `json:"create,omitempty"`
	Destroy []string `json:"destroy,omitempty"`
	// Dir is the working directory in the place. If its last element has {task} or {name}, it is
	// removed with the task; otherwise it has to be empty. Unless set, it is attractor-{name}, in
	// the directory where the command starts.
	Dir string `json:"dir,omitempty"`
	// Keep says that Dir has files with which the task begins, such as those of an image. The
	// task's patch has them, too. Such a task has no repository.
	Keep bool `json:"keep,omitempty"`
	// Sandbox is the level by which commands are confined on this machine, see package sandbox,
	// with Network and AllowHosts.
	Sandbox    sandbox.Level `json:"sandbox,omitempty"`
	Network    bool          `json:"network,omitempty"`
	AllowHosts []string      `json:"allow_hosts,omitempty"`
}

// check returns an error for an environment that cannot work.
func (e *Environment) check(name string) error {
	here := len(e.Command) == 0
	switch {
	case e.Keep && e.Dir == "":
		return fmt.Errorf("workspace: the environment %q keeps the files of a directory, and names none: give "+
			"it a dir", name)
	case here && (len(e.Create) > 0 || len(e.Destroy) > 0 || e.Dir != ""):
		return fmt.Errorf("workspace: the environment %q has no command, so it is this machine, and needs no create, "+
			"destroy or dir", name)
	case !here && (e.Sandbox != "" || e.Network || len(e.AllowHosts) > 0):
		return fmt.Errorf("workspace: the environment %q: a sandbox confines commands of this machine, not those "+
			"behind a command", name)
	}
	if _, err := sandbox.ParseLevel(string(e.Sandbox)); err != nil {
		return fmt.Errorf("workspace: the environment %q: %w", name, err)
	}
	return nil
}

// filled returns words in which the values of a task replace {task}, {tenant} and {name}.
func filled(words []string, t fleet.Task) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = fill(word, t)
	}
	return out
}

func fill(word string, t fleet.Task) string {
	tenant := cmp.Or(t.Tenant, fleet.DefaultTenant)
	return strings.NewReplacer("{task}", t.ID, "{tenant}", tenant, "{name}", uniqueName(tenant, t.ID)).Replace(word)
}

// uniqueName returns a name of letters and digits for a task.
func uniqueName(tenant, id string) string {
	sum := sha256.Sum256([]byte(tenant + "/" + id))
	return "t" + hex.EncodeToString(sum[:8])
}

// place is where a workspace is.
type place struct {
	dir     string          // the working directory
	command []string        // Environment.Command; nil for this machine
	confine sandbox.Options // of commands on this machine
	setup   env.Environment // for preparing the workspace, outside of the task's sandbox
	task    env.Environment // for the task's commands
	close   []func() error  // in reverse order
}

// Close ends the place.
func (p *place) Close() error {
	var errs []error
	for _, f := range slices.Backward(p.close) {
		errs = append(errs, f())
	}
	p.close = nil
	return errors.Join(errs...)
}

// atEnd lets Close do something, in a context of its own, because the task's has ended.
func (p *place) atEnd(do func(ctx context.Context) error) {
	p.close = append(p.close, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), destroyTime)
		defer cancel()
		return do(ctx)
	})
}

// openHere opens a place in a directory of this machine. It sets setup.
func openHere(dir string, e Environment) (*place, error) {
	p := &place{dir: dir, confine: sandbox.Options{Level: cmp.Or(e.Sandbox, sandbox.Off), Network: e.Network,
		AllowHosts: e.AllowHosts}}
	local, err := env.NewLocal(dir, env.LocalOptions{AnyNames: true})
	if err != nil {
		return nil, err
	}
	p.setup, p.close = local, []func() error{local.Close}
	return p, nil
}

// endAbandoned ends the commands of dead workers of this machine. They could still write to their
// workspaces, whose paths the next owners use.
func endAbandoned(dir string) error {
	local, err := env.NewLocal(dir, env.LocalOptions{EndAbandoned: true})
	if err != nil {
		return err
	}
	return local.Close()
}

// begin sets task, confined if the environment has a sandbox.
func (p *place) begin() error {
	if p.command != nil || p.confine.Level == sandbox.Off {
		p.task = p.setup
		return nil
	}
	box, err := sandbox.New(p.dir, p.confine)
	if err != nil {
		return err
	}
	p.close = append(p.close, box.Close)
	local, err := env.NewLocal(p.dir, box.Confine(env.LocalOptions{AnyNames: true}))
	if err != nil {
		return err
	}
	p.close = append(p.close, local.Close)
	p.task = local
	return nil
}

// defaultDir is Environment.Dir unless it is set.
const defaultDir = "attractor-{name}"

// openThere opens a place behind a command, with an empty directory unless the environment keeps
// it. Again says that the files will be restored from a record.
func openThere(ctx context.Context, e Environment, t fleet.Task, again bool) (_ *place, err error) {
	p := &place{command: filled(e.Command, t)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if len(e.Destroy) > 0 {
		if len(e.Create) > 0 {
			_ = runHere(ctx, filled(e.Destroy, t)) // there is usually nothing to destroy
		}
		p.atEnd(func(ctx context.Context) error { return runHere(ctx, filled(e.Destroy, t)) })
	}
	if len(e.Create) > 0 {
		if err := runHere(ctx, filled(e.Create, t)); err != nil {
			return nil, fmt.Errorf("workspace: creating the environment: %w", err)
		}
	}
	pattern := cmp.Or(e.Dir, defaultDir)
	last := path.Base(pattern)
	own := !e.Keep && (strings.Contains(last, "{task}") || strings.Contains(last, "{name}"))
	if p.dir, err = dirThere(ctx, p.command, fill(pattern, t), preparing(own, e.Keep, again)); err != nil {
		return nil, fmt.Errorf("workspace: the environment's directory: %w", err)
	}
	far, err := remote.Dial(ctx, p.command, dialOptions(p.dir))
	if err != nil {
		return nil, err
	}
	if own {
		p.atEnd(func(ctx context.Context) error {
			_, err := dirThere(ctx, p.command, p.dir, removed)
			return err
		})
	}
	p.setup = far
	p.close = append(p.close, far.Close)
	return p, nil
}

func dialOptions(dir string) remote.DialOptions {
	return remote.DialOptions{Options: remote.Options{Dir: dir, AnyNames: true}, Helper: attractor.EnvHelper}
}

// The scripts that remove a directory $d, or prepare it and print its path.
const (
	removed = `chmod -R u+rwX -- "$d" 2>/dev/null; rm -rf -- "$d" || exit`
	emptied = removed + "\n" + mustBeEmpty
	// cleared removes the files of a kept directory, which are restored from a record.
	cleared     = `mkdir -p -- "$d" && cd -- "$d" && find . -mindepth 1 -delete && pwd -P`
	kept        = `mkdir -p -- "$d" && cd -- "$d" && pwd -P`
	mustBeEmpty = `mkdir -p -- "$d" && cd -- "$d" && if [ -n "$(ls -A)" ]; then echo "$d is not empty" >&2; exit 1; fi && pwd -P`
)

// preparing returns the script that prepares a directory: one of the task's own, one that is kept,
// for the first time or again, or another one, which has to be empty.
func preparing(own, keep, again bool) string {
	switch {
	case own:
		return emptied
	case keep && again:
		return cleared
	case keep:
		return kept
	}
	return mustBeEmpty
}

// dirThere runs a script for a directory and returns what it prints.
func dirThere(ctx context.Context, command []string, dir, text string) (_ string, err error) {
	far, err := remote.Dial(ctx, command, dialOptions(""))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, far.Close()) }()
	out, err := scriptOutput(ctx, far, "d="+shquote.Words(dir)+"\n"+text)
	return strings.TrimSuffix(out, "\n"), err
}

// The bounds of commands of the operator.
const (
	createTime  = 10 * time.Minute
	destroyTime = time.Minute
)

// runHere runs a command of the operator on this machine.
func runHere(ctx context.Context, words []string) error {
	ctx, cancel := context.WithTimeout(ctx, createTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	output := &tail{max: 8 << 10}
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = waitDelay
	endGroup(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s: %w: %s", words[0], err, lastLines(output.String(), 3))
	}
	return nil
}
