package contain

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Level starts the commands of one environment and contains them.
type Level struct {
	mechanism mechanism // nil at the level of groups
	// the marks of this process itself, with a slash at the end; empty if no command of ours
	// started it
	outer  string
	host   *host
	limits Limits // those that hold
}

// mechanism is a level above the process group.
type mechanism interface {
	name() string
	// start starts a command. If it fails, the command does not run, and the caller closes the tree
	// that may come with the error. before, if not nil, is called on the thread that starts the
	// command, and that serves nothing else then.
	start(cmd *exec.Cmd, id string, before func() error) (Tree, error)
	// hides reports whether commands cannot see the host's processes.
	hides() bool
	// limit limits the commands to come, each or all together, and returns those of the limits that
	// hold. It is called once, before the first command.
	limit(wanted Limits) Limits
	// close releases what all commands shared. None of them runs any more.
	close() error
}

// Find returns the wanted level, or the best that works on this machine if wanted is empty. A
// wanted level is tried out with the shell; the best one is found without starting a process, if it
// can be. An error wraps errors.ErrUnsupported. Limits that the level cannot set do not hold; see
// Level.Limits. No program that PATH finds in one of the roots runs.
func Find(wanted, shell string, limits Limits, roots ...string) (Level, error) {
	v := Level{host: newHost()}
	if own := os.Getenv(MarkVar); own != "" {
		v.outer = own + "/"
	}
	if wanted == Group {
		return v, nil
	}
	known := wanted == ""
	var errs []error
	mounts := mountinfo(sync.OnceValues(readMountinfo)) // the list is long to make
	for _, c := range v.candidates(shell, roots, mounts, wanted != "") {
		if wanted != "" && wanted != c.name {
			continue
		}
		known = true
		found, err := c.find()
		if err == nil {
			v.mechanism, v.limits = found, found.limit(limits)
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

// candidate is a level with the function that tries it out.
type candidate struct {
	name string
	find func() (mechanism, error)
}

// candidates returns the levels above the process group, the best first. With proof a trial is not
// enough.
func (v Level) candidates(shell string, roots []string, mounts mountinfo, proof bool) []candidate {
	return []candidate{
		{CgroupPIDNS, func() (mechanism, error) { return findCgroupPIDNS(shell, v.outer, roots, mounts, proof) }},
		{PIDNS, func() (mechanism, error) { return findPIDNS(shell, v.outer, roots, mounts, proof) }},
		{Cgroup, func() (mechanism, error) { return findCgroups(shell, mounts, proof) }},
	}
}

// Name returns the name of the level.
func (v Level) Name() string {
	if v.mechanism != nil {
		return v.mechanism.name()
	}
	return Group
}

// Hides reports whether commands cannot see the host's processes.
func (v Level) Hides() bool { return v.mechanism != nil && v.mechanism.hides() }

// Limits returns the limits that hold for commands. Zero means none.
func (v Level) Limits() Limits { return v.limits }

// Start starts a command and returns the command that runs, which may be a copy, and its tree. The
// channel is closed when somebody has waited for the command; session says that it leads a session
// and not only a group.
//
// before, if not nil, is called on the thread that starts the command. The thread serves nothing
// else and ends soon, so what before does to it, such as restricting it, holds for the command
// alone. It may be called again if the level fails for this command.
//
// If the level fails for this command, Start returns an error where the level hides the host,
// because that was promised. Elsewhere the command runs in its process group alone.
func (v Level) Start(cmd *exec.Cmd, session bool, reaped <-chan struct{},
	before func() error) (*exec.Cmd, Tree, error) {
	id := rand.Text()
	cmd.Env = append(cmd.Env, MarkVar+"="+v.outer+v.host.id+"."+id)
	if !v.Hides() { // a namespace ends with this process
		v.host.hold()
	}
	cmd.ExtraFiles = inherited(cmd.ExtraFiles)
	if v.mechanism != nil {
		spare := unstarted(cmd) // os/exec starts a Cmd only once, even if that fails
		t, err := v.startIn(cmd, id, before)
		// what has just been killed counts until it has been waited for
		within(SettleTime, pollTime, func() bool {
			if !errors.Is(err, syscall.EAGAIN) {
				return true
			}
			cmd, spare = spare, unstarted(spare)
			t, err = v.startIn(cmd, id, before)
			return false
		})
		if err == nil || v.Hides() {
			return cmd, t, err
		}
		cmd = spare
	}
	if err := apart(before != nil, toStart(cmd, before)); err != nil {
		return cmd, nil, err
	}
	g := group{leader: cmd.Process.Pid, session: session, reaped: reaped, mark: id}
	// it exists until we wait for it; without a start time sweeps only take longer
	if stat, err := readStat(g.leader); err == nil {
		g.began = stat.start
	}
	return cmd, g, nil
}

// startIn starts a command by the level's mechanism. Of one that fails nothing stays.
func (v Level) startIn(cmd *exec.Cmd, id string, before func() error) (Tree, error) {
	t, err := v.mechanism.start(cmd, id, before)
	if err == nil {
		return t, nil
	}
	if t != nil {
		err = errors.Join(err, closeWithin(SettleTime, t)) // a cgroup that stays is removed by a later host
	}
	return nil, err
}

// toStart returns a function that calls before, unless it is nil, and starts a command.
func toStart(cmd *exec.Cmd, before func() error) func() error {
	if before == nil {
		return cmd.Start
	}
	return func() error {
		if err := before(); err != nil {
			return err
		}
		return cmd.Start()
	}
}

// apart calls f, on a thread of its own if that is necessary.
func apart(necessary bool, f func() error) (err error) {
	if !necessary {
		return f()
	}
	done := make(chan struct{})
	ownThread(func() {
		defer close(done)
		err = f()
	})
	<-done
	return err
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

// Close releases the level's resources. ended reports that all commands have ended.
func (v Level) Close(ended bool) error {
	err := v.host.release(ended)
	if v.mechanism != nil {
		err = errors.Join(err, v.mechanism.close())
	}
	return err
}

// closeWithin closes a tree and tries again until the limit, because on a busy machine processes
// end late.
func closeWithin(limit time.Duration, t Tree) error {
	var err error
	within(limit, pollTime, func() bool { err = t.Close(); return err == nil })
	return err
}

// within calls a function again and again until it returns true or the limit is over, and reports
// which. The last call is after the limit, because this process may have been paused.
func within(limit, pause time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		late := !time.Now().Before(end)
		if done() {
			return true
		}
		if late {
			return false
		}
	}
}
