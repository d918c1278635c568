package contain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Level is the containment of all commands of one environment.
type Level struct {
	rung  rung   // nil at the level of groups
	outer string // this process's own marks, with a slash at the end; empty when no command of ours started it
	stale *stale
	host  *host
}

// rung is a level above that of groups.
type rung interface {
	name() string
	// start starts a command. With an error the command does not run, and a tree that comes with it is to be closed.
	start(cmd *exec.Cmd, id string) (Tree, error)
	// hides reports whether commands cannot see the processes of the host.
	hides() bool
	// close ends what was made for all commands, of which none runs any more.
	close() error
}

// stale is what was made for commands that did not start and could not be given back at once.
type stale struct {
	mu    sync.Mutex
	trees []Tree
}

// Find returns the wanted level, or the best that works here when wanted is empty.
func Find(wanted, shell string) (Level, error) {
	v := Level{stale: &stale{}, host: newHost()}
	if own := os.Getenv(MarkVar); own != "" {
		v.outer = own + "/"
	}
	if wanted == Group {
		return v, nil
	}
	known := wanted == ""
	var errs []error
	for _, step := range v.ladder(shell) {
		if wanted != "" && wanted != step.name {
			continue
		}
		known = true
		found, err := step.find()
		if err == nil {
			v.rung = found
			return v, nil
		}
		errs = append(errs, err)
	}
	if wanted == "" {
		return v, nil // why nothing better works is nobody's trouble when it was not asked for
	}
	if !known {
		return v, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return v, fmt.Errorf("containment %q: %w: %w", wanted, errors.ErrUnsupported, errors.Join(errs...))
}

// step is a rung that may be found to work.
type step struct {
	name string
	find func() (rung, error)
}

// ladder returns the levels above that of groups, the best first.
func (v Level) ladder(shell string) []step {
	return []step{
		{CgroupPIDNS, func() (rung, error) { return findSpaces(shell, v.outer) }},
		{PIDNS, func() (rung, error) { return findPIDNS(shell, v.outer) }},
		{Cgroup, func() (rung, error) { return findCgroups(shell) }},
	}
}

// name returns what Containment reports.
func (v Level) Name() string {
	if v.rung != nil {
		return v.rung.name()
	}
	return Group
}

// hides returns what HidesHost reports.
func (v Level) Hides() bool { return v.rung != nil && v.rung.hides() }

// start starts a command, marked, and returns what holds its processes together. When the level fails for this one, that is an
// error where the level hides the host, which was promised; otherwise it runs in its group alone, and if the command itself is at
// fault, the group's error says so. The command returned is the one that runs, which may be a copy.
func (v Level) Start(cmd *exec.Cmd, session bool, reaped <-chan struct{}) (*exec.Cmd, Tree, error) {
	id := rand.Text()
	cmd.Env = append(cmd.Env, MarkVar+"="+v.outer+v.host.id+"."+id)
	if !v.Hides() { // in a namespace nothing outlives this process
		v.host.hold()
	}
	cmd.ExtraFiles = inherited(cmd.ExtraFiles)
	if v.rung != nil {
		spare := unstarted(cmd) // os/exec starts a Cmd once, also in vain
		t, err := v.rung.start(cmd, id)
		if err == nil {
			return cmd, t, nil
		}
		v.stale.close(t)
		if v.Hides() {
			return cmd, nil, err
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

// unstarted copies what package env sets.
func unstarted(cmd *exec.Cmd) *exec.Cmd {
	attr := *cmd.SysProcAttr
	return &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Err: cmd.Err,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, ExtraFiles: cmd.ExtraFiles,
		SysProcAttr: &attr,
	}
}

// close gives back what no command could give back. It is told whether all commands have ended.
func (v Level) Close(ended bool) error {
	v.stale.mu.Lock()
	defer v.stale.mu.Unlock()
	errs := []error{v.host.release(ended)}
	for _, t := range v.stale.trees {
		errs = append(errs, closeWithin(keeperTime, t))
	}
	if v.rung != nil {
		errs = append(errs, v.rung.close())
	}
	return errors.Join(errs...)
}

// closeWithin closes a tree, again and again while it is late to end, as trees are on a busy machine.
func closeWithin(limit time.Duration, t Tree) error {
	for end := time.Now().Add(limit); ; time.Sleep(pollTime) {
		if err := t.Close(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// close closes a tree, or keeps it for later if that fails.
func (s *stale) close(t Tree) {
	if t == nil || t.Close() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees = append(s.trees, t)
}
