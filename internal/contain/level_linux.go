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

// Level starts the commands of one environment and contains them.
type Level struct {
	rung  rung   // nil at the level of groups
	outer string // the marks of this process itself, with a slash at the end; empty if no command of ours started it
	stale *stale
	host  *host
}

// rung is a level above the process group.
type rung interface {
	name() string
	// start starts a command. If it fails, the command does not run, and the caller closes the tree that may come with the error.
	start(cmd *exec.Cmd, id string) (Tree, error)
	// hides reports whether commands cannot see the host's processes.
	hides() bool
	// close releases what all commands shared. None of them runs any more.
	close() error
}

// stale holds the trees of commands that did not start and that could not be closed at once.
type stale struct {
	mu    sync.Mutex
	trees []Tree
}

// Find returns the wanted level, or the best that works on this machine if wanted is empty. Each level is tried out with the shell. An
// error wraps errors.ErrUnsupported.
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
		return v, nil // nobody asked for a better level, so the reasons are irrelevant
	}
	if !known {
		return v, fmt.Errorf("containment %q: %w", wanted, errors.ErrUnsupported)
	}
	return v, fmt.Errorf("containment %q: %w: %w", wanted, errors.ErrUnsupported, errors.Join(errs...))
}

// candidate is a rung of the ladder with the function that tries it out.
type candidate struct {
	name string
	find func() (rung, error)
}

// ladder returns the levels above the process group, the best first.
func (v Level) ladder(shell string) []candidate {
	return []candidate{
		{CgroupPIDNS, func() (rung, error) { return findSpaces(shell, v.outer) }},
		{PIDNS, func() (rung, error) { return findPIDNS(shell, v.outer) }},
		{Cgroup, func() (rung, error) { return findCgroups(shell) }},
	}
}

// Name returns the name of the level.
func (v Level) Name() string {
	if v.rung != nil {
		return v.rung.name()
	}
	return Group
}

// Hides reports whether commands cannot see the host's processes.
func (v Level) Hides() bool { return v.rung != nil && v.rung.hides() }

// Start starts a command and returns the command that runs, which may be a copy, and its tree. The channel is closed when somebody has
// waited for the command; session says that it leads a session and not only a group.
//
// If the level fails for this command, Start returns an error where the level hides the host, because that was promised. Elsewhere the
// command runs in its process group alone.
func (v Level) Start(cmd *exec.Cmd, session bool, reaped <-chan struct{}) (*exec.Cmd, Tree, error) {
	id := rand.Text()
	cmd.Env = append(cmd.Env, MarkVar+"="+v.outer+v.host.id+"."+id)
	if !v.Hides() { // a namespace ends with this process
		v.host.hold()
	}
	cmd.ExtraFiles = inherited(cmd.ExtraFiles)
	if v.rung != nil {
		spare := unstarted(cmd) // os/exec starts a Cmd only once, even if that fails
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
	if stat, err := readStat(g.leader); err == nil { // it exists until we wait for it; without a start time sweeps only take longer
		g.began = stat.start
	}
	return cmd, g, nil
}

// unstarted returns a copy of a command that has not been started.
func unstarted(cmd *exec.Cmd) *exec.Cmd {
	attr := *cmd.SysProcAttr
	return &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Err: cmd.Err,
		Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, ExtraFiles: cmd.ExtraFiles,
		SysProcAttr: &attr,
	}
}

// Close releases what is left of the level. ended says that all commands have ended.
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

// closeWithin closes a tree and tries again until the limit, because on a busy machine processes end late.
func closeWithin(limit time.Duration, t Tree) error {
	for end := time.Now().Add(limit); ; time.Sleep(pollTime) {
		if err := t.Close(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// close closes a tree, and keeps it for Level.Close if that fails.
func (s *stale) close(t Tree) {
	if t == nil || t.Close() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trees = append(s.trees, t)
}
