//go:build unix

package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/contain"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/internal/lookpath"
)

// findShell returns the path of a shell, preferably bash, which models write scripts for. What PATH
// finds in one of the directories does not count.
func findShell(roots []string) (string, error) {
	for _, name := range [...]string{"bash", "sh"} {
		if path, err := lookpath.System(name, os.Getenv("PATH"), roots...); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no shell: neither bash nor sh is in /bin or PATH: %w", exec.ErrNotFound)
}

// process is a command in its own process group and in the containment of its level.
//
// The goroutine supervise waits for it and determines its exit; others read its pipes. A kill is a
// goroutine too, which runs until the process tree is gone.
type process struct {
	id     string
	cmd    *exec.Cmd
	tree   contain.Tree
	began  time.Time
	grace  time.Duration
	settle time.Duration
	stdin  *input // nil without input
	output *output
	table  *processTable
	ended  func() // of the Launch; nil without one
	around string // the command line of a program in which the command runs; empty if there is none
	shell  string // the command line of the shell
	limits limits

	reaped chan struct{} // closed when the main process has been waited for
	done   chan struct{} // closed when exit and err are set
	exit   Exit
	err    error

	kill     sync.Once
	killing  atomic.Bool
	running  []string      // what ran when a kill began; set before treeGone is closed
	treeGone chan struct{} // closed when a kill has finished with the tree
	killed   chan struct{} // closed when a kill is over and killErr is set
	killErr  error
	closing  func() error // calls endAgain once
}

// command returns the exec.Cmd of a command, and how it is launched. The caller closes its
// ExtraFiles.
func (l *Local) command(ctx context.Context, dir string, c Command) (*exec.Cmd, Launch, error) {
	launch := Launch{Args: l.limits.wrap(shellArgs(l.shell, c.Script)), Dir: dir, Terminal: c.TTY != nil,
		Env: append(append(l.environ[:len(l.environ):len(l.environ)], "PWD="+dir), c.Env...)}
	if l.launch != nil {
		var err error
		if launch, err = l.launched(ctx, launch); err != nil {
			return nil, launch, err
		}
	}
	cmd := exec.Command(launch.Args[0], launch.Args[1:]...)
	cmd.Dir, cmd.ExtraFiles = launch.Dir, launch.Files
	cmd.Env = append([]string{}, launch.Env...) // not nil, which would mean this process's whole environment
	return cmd, launch, nil
}

// launched calls LocalOptions.Launch and waits for it until ctx ends.
func (l *Local) launched(ctx context.Context, launch Launch) (Launch, error) {
	answer := guard.Start("LocalOptions.Launch", func() (Launch, error) { return l.launch(ctx, launch) })
	select {
	case r := <-answer:
		if r.Err == nil && len(r.Value.Args) == 0 {
			r.Err = errors.New("LocalOptions.Launch returned no program: Args is empty")
		}
		if r.Err != nil {
			r.Value.discard()
		}
		return r.Value, r.Err
	case <-ctx.Done():
		go func() { (<-answer).Value.discard() }()
		return Launch{}, context.Cause(ctx)
	}
}

// discard releases what belongs to a command that does not start.
func (l Launch) discard() {
	_ = closeAll(l.Files) // the error for which it does not start matters more
	tellEnded(l.Ended)
}

// endedTime limits how long a command's end waits for Launch.Ended.
const endedTime = time.Second

// tellEnded calls Launch.Ended and waits for it, for a time. A panic of it, or one that does not
// return, has no effect on the command, which has ended.
func tellEnded(ended func()) {
	if ended == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), endedTime)
	defer cancel()
	_, _ = guard.Within(ctx, "Launch.Ended", func() (struct{}, error) {
		ended()
		return struct{}{}, nil
	})
}

// start runs a command that has been checked.
func (l *Local) start(ctx context.Context, id, dir string, c Command) (*process, error) {
	cmd, launch, err := l.command(ctx, dir, c)
	if err != nil {
		return nil, err
	}
	launched, ended := cmd.ExtraFiles, launch.Ended
	p := &process{
		id: id, cmd: cmd, grace: l.grace, settle: l.settle, ended: ended,
		reaped: make(chan struct{}), done: make(chan struct{}),
		treeGone: make(chan struct{}), killed: make(chan struct{}),
		table: &l.table, limits: l.limits,
		shell: contain.Line(shellArgs(l.shell, c.Script)),
	}
	p.closing = sync.OnceValue(p.endAgain)
	if cmd.Args[0] != l.shell {
		p.around = contain.Line(cmd.Args)
	}
	wire := p.pipes
	if c.TTY != nil {
		wire = p.terminal
	}
	theirs, err := wire(c)
	if err == nil {
		p.began = time.Now()
		p.cmd, p.tree, err = l.level.Start(cmd, c.TTY != nil, p.reaped, launch.Thread)
	}
	// The child has its own copies; ours would keep the pipes from ever ending.
	err = errors.Join(err, closeAll(theirs))
	_ = closeAll(launched) // a file may be listed twice or closed already; the command runs anyway
	if err != nil {
		tellEnded(ended)
		return nil, errors.Join(explainStart(err, c.Script), p.closeEnds())
	}
	p.output.start()
	go p.supervise()
	return p, nil
}

// pipes connects a command by a pipe for each stream and returns the child's ends. Without input
// the child reads /dev/null. It has a session of its own, so that /dev/tty is not the terminal of
// the host, where it would wait for a person who was not asked.
func (p *process) pipes(c Command) (theirs []*os.File, err error) {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var ours []*pipe
	for _, stream := range [...]int{Stdout, Stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, errors.Join(err, closePipes(ours))
		}
		theirs = append(theirs, w)
		ours = append(ours, &pipe{stream: stream, f: r})
	}
	p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1]
	if p.output, err = newOutput(c.Output, ours...); err != nil {
		return theirs, err
	}
	p.output.over = c.Ended
	if c.Stdin {
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, r)
		p.cmd.Stdin = r
		p.stdin = &input{f: w}
	}
	return theirs, nil
}

// closeEnds closes this process's ends of the pipes of a command that did not start.
func (p *process) closeEnds() error {
	var errs []error
	if p.output != nil {
		errs = append(errs, p.output.close())
	}
	if p.stdin != nil {
		errs = append(errs, p.stdin.closeAtExit())
	}
	return errors.Join(errs...)
}

func closePipes(pipes []*pipe) error {
	var errs []error
	for _, p := range pipes {
		errs = append(errs, p.f.Close())
	}
	return errors.Join(errs...)
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// supervise waits for the main process, reads its remaining output and sets the exit.
func (p *process) supervise() {
	waitErr := p.cmd.Wait() // waits only for the process: it copies no output
	took := time.Since(p.began)
	close(p.reaped)
	p.exit, p.err = exitOf(p.cmd.ProcessState, waitErr)
	if p.killing.Load() {
		<-p.treeGone
		p.output.drain(killedQuiet, killedDrain)
		p.exit.Killed = p.running
	} else {
		p.output.drain(quietTime, drainTime)
	}
	p.exit.Duration = took
	p.exit.Left = p.leftByCommand()
	p.exit.Limits = p.limits.reached(p.tree.Reached(), p.exit)
	p.err = errors.Join(p.err, p.output.failure())
	if p.stdin != nil {
		p.err = errors.Join(p.err, p.stdin.closeAtExit())
	}
	p.output.discard(p.pipesEnded)
	tellEnded(p.ended)
	close(p.done)
}

// leftByCommand returns what the containment finds, without the program that LocalOptions.Launch
// has put around the command: a sandbox that is just ending, or that waits for what the command has
// left.
func (p *process) leftByCommand() []string {
	return slices.DeleteFunc(p.tree.Left(), func(line string) bool { return shows(line, p.around) })
}

// shows reports whether a line of a Tree is about a process with this command line, which may be
// empty.
func shows(line, command string) bool {
	_, shown, _ := strings.Cut(line, " ")
	return command != "" && shown == command
}

// pipesEnded runs when no process holds the pipes any more. It releases the containment if nothing
// of the command is left. If that fails, Close tries again and reports the error.
func (p *process) pipesEnded() {
	if len(p.exit.Left) > 0 && p.tree.Alive() || p.tree.Close() != nil {
		return
	}
	p.table.remove(p.id)
}

// release releases the command's containment and removes it from the table.
func (p *process) release() error {
	err := p.tree.Close()
	p.table.remove(p.id)
	return err
}

// exitOf returns the Exit for a process state.
func exitOf(state *os.ProcessState, waitErr error) (Exit, error) {
	if state == nil {
		return Exit{Code: -1}, fmt.Errorf("wait for the command: %w", waitErr)
	}
	exit := Exit{Code: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Signal = unix.SignalName(status.Signal())
	}
	return exit, nil
}

// ID returns the id, such as p1.
func (p *process) ID() string { return p.id }

// Stdin returns the writer of the command's pipe or terminal, which is closed when the command has
// ended.
func (p *process) Stdin() io.WriteCloser {
	if p.stdin == nil {
		return nil // not a nil *input in an interface
	}
	return p.stdin
}

// Wait returns the exit, or the context's cause if the context ends first.
func (p *process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done: // a known exit takes precedence over an ended context
		return p.exit, p.err
	default:
	}
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{}, context.Cause(ctx)
	}
}
