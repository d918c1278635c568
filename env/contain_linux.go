package env

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// level is the rung of the ladder that a Local uses.
type level struct {
	cgroups *cgroups // nil at the level of groups
	outer   string   // this process's own marks, with a slash at the end; empty when no command of ours started it
}

// findLevel returns the wanted level, or the best that works here when wanted is empty.
func findLevel(wanted, shell string) (level, error) {
	var v level
	if own := os.Getenv(MarkVar); own != "" {
		v.outer = own + "/"
	}
	switch wanted {
	case ContainGroup:
		return v, nil
	case "", ContainCgroup:
		var err error
		v.cgroups, err = findCgroups(shell)
		if err != nil && wanted != "" {
			return v, fmt.Errorf("containment %q: %w: %w", wanted, errors.ErrUnsupported, err)
		}
		return v, nil // why there is no cgroup is nobody's trouble when none was asked for
	default:
		return v, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
}

// name is what Containment reports.
func (v level) name() string {
	if v.cgroups != nil {
		return ContainCgroup
	}
	return ContainGroup
}

// start starts a command, marked, and returns what holds its processes together. When there is no cgroup for this one it
// runs in its group alone. The command returned is the one that runs, which may be a copy.
func (v level) start(cmd *exec.Cmd, session bool, reaped <-chan struct{}) (*exec.Cmd, tree, error) {
	id := rand.Text()
	cmd.Env = append(cmd.Env, MarkVar+"="+v.outer+id)
	if v.cgroups != nil {
		spare := unstarted(cmd) // os/exec starts a Cmd once, also in vain
		if leaf := v.cgroups.start(cmd, id); leaf != nil {
			return cmd, leaf, nil
		}
		cmd = spare
	}
	if err := cmd.Start(); err != nil {
		return cmd, nil, err
	}
	g := group{leader: cmd.Process.Pid, session: session, reaped: reaped, mark: id}
	if stat, err := readStat(g.leader); err == nil { // it is there until we wait for it; without it, sweeps only cost more
		g.began = stat.start
	}
	return cmd, g, nil
}

// unstarted copies what start.go and its helpers set.
func unstarted(cmd *exec.Cmd) *exec.Cmd {
	attr := *cmd.SysProcAttr
	return &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Err: cmd.Err,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		SysProcAttr: &attr,
	}
}

// close removes what no command could remove.
func (v level) close() error {
	if v.cgroups == nil {
		return nil
	}
	return v.cgroups.close()
}
