package shellenv

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
)

// launchScript runs the command in "$@". It first prints the number of the command's process group.
// At the end it prints to both outputs the mark, the exit code, and whether the group still has
// members.
const launchScript = `cd "$f" || { [ -d "$f" ] && exit 42; [ ! -e "$f" ] || exit 43; absent "$f"; }
exec 4>&1 5>&2
{
	lead=; if command -v setsid >/dev/null; then lead=setsid; else set -m; fi
	(exec $lead sh -c 'echo $$; echo $$ >&3; exec env "$@" 3>&-' sh "$@" 3>&1 >&4 2>&5 4>&- 5>&-)
	echo $?
} 2>/dev/null | {
	read group && read code
	left=0; kill -0 -$group 2>/dev/null && left=1
	printf '%s%d %d\n' "$mark" $code $left
	printf '%s%d %d\n' "$mark" $code $left >&2
}`

// killScript terminates the group, and kills it after two seconds (env.DefaultGrace). It waits half
// a second more; processes that are left then are zombies or stuck in the kernel.
const killScript = `kill -TERM -$group 2>/dev/null || exit 0
n=0
while kill -0 -$group 2>/dev/null && [ $n -lt 25 ]; do
	n=$((n + 1)); [ $n -lt 20 ] || kill -KILL -$group 2>/dev/null
	sleep 0.1 || sleep 1
done`

const (
	// maxBody limits the script that starts a command. Linux limits an argument to 128 KiB
	// (MAX_ARG_STRLEN), and the name of the directory and the prelude have the rest.
	maxBody = 120 << 10
	// maxPreface limits what is kept of an output before the command has begun, in bytes.
	maxPreface = 64 << 10
	// closeWithin limits the time in which Close ends commands over there.
	closeWithin = 4 * env.DefaultGrace
)

// process is a remote command. The embedded env.Process is its local end, which has the id and the
// input and whose output goes to receive.
type process struct {
	env.Process
	env    *Env
	output func(int, []byte)
	mark   []byte
	began  time.Time
	held   [env.Stderr + 1][]byte // by stream: output that may be part of the group's number or of the mark
	over   [env.Stderr + 1]bool   // by stream: whether the mark has arrived

	started chan struct{} // closed once group is known
	group   int
	ended   chan struct{} // closed once exit or err is known
	exit    env.Exit
	err     error
	killed  atomic.Bool
	left    atomic.Bool // the command has ended, but its group still has members
}

// Start implements env.Environment. A context that ends meanwhile breaks the connection. The
// command may have begun by then.
func (e *Env) Start(ctx context.Context, c env.Command) (env.Process, error) {
	if c.TTY != nil {
		return nil, fmt.Errorf("start command in a terminal: %w", errors.ErrUnsupported)
	}
	p := &process{env: e, output: c.Output, mark: []byte("\x1e" + rand.Text() + " "), began: time.Now(),
		started: make(chan struct{}), ended: make(chan struct{})}
	words := append(slices.Clone(c.Env), e.platform.Shell, "-c", c.Script)
	body := "mark=" + shquote.Words(string(p.mark)) + "\nset -- " + shquote.Words(words...) + "\n" + launchScript
	if len(body) > maxBody {
		return nil, fmt.Errorf("start command: it has %d bytes with its variables and quotes, and a shell elsewhere "+
			"takes %d: write it to a file and run that", len(body), maxBody)
	}
	near, err := e.command(cmp.Or(c.Dir, "."), body)
	if err == nil {
		p.Process, err = e.local.Start(ctx, env.Command{Script: "exec " + shquote.Words(near...), Stdin: c.Stdin,
			Output: p.receive})
	}
	if err != nil {
		return nil, err
	}
	e.live.Store(p, nil)
	go p.watch()
	if err := p.awaitStart(ctx, c.Dir); err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	return p, nil
}

// awaitStart waits until the command has begun in dir, or could not.
func (p *process) awaitStart(ctx context.Context, dir string) error {
	select {
	case <-p.started:
	case <-p.ended:
		if isClosed(p.started) { // it was quick
			return nil
		}
		for _, of := range []error{fs.ErrNotExist, fs.ErrPermission, fs.ErrInvalid} {
			if errors.Is(p.err, of) {
				return &fs.PathError{Op: "chdir", Path: dir, Err: p.err}
			}
		}
		return p.err
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Process.Kill(context.WithoutCancel(ctx)))
	}
	return nil
}

// receive handles output of the local end. Calls do not overlap.
func (p *process) receive(stream int, text []byte) {
	p.held[stream] = append(p.held[stream], text...)
	if p.group == 0 {
		line, rest, found := bytes.Cut(p.held[env.Stdout], []byte("\n"))
		group, err := strconv.Atoi(string(line))
		if !found || err != nil {
			// Watch finds the reason on standard error if the command does not start.
			p.held[stream] = p.held[stream][max(0, len(p.held[stream])-maxPreface):]
			return
		}
		p.group, p.held[env.Stdout] = group, rest
		close(p.started)
	}
	p.pass(env.Stdout)
	p.pass(env.Stderr)
}

// pass passes on the held output of a stream, except for a possible beginning of the mark. It
// handles the mark.
func (p *process) pass(stream int) {
	text := p.held[stream]
	if p.over[stream] { // this is output of processes that the command has left running
		p.held[stream] = nil
		return
	}
	i := bytes.Index(text, p.mark)
	for n := min(len(text), len(p.mark)); i < 0; n-- {
		if bytes.HasPrefix(p.mark, text[len(text)-n:]) {
			i = len(text) - n
		}
	}
	if p.output != nil && i > 0 {
		p.output(stream, text[:i])
	}
	p.held[stream] = bytes.Clone(text[i:])
	if line, _, found := bytes.Cut(text[i:], []byte("\n")); found {
		p.over[stream] = true
		if p.over[env.Stdout] && p.over[env.Stderr] {
			p.settle(string(line[len(p.mark):]))
		}
	}
}

// settle sets the exit from the status that follows the mark.
func (p *process) settle(status string) {
	var left bool
	_, p.err = fmt.Sscan(status, &p.exit.Code, &left)
	p.exit.Duration = time.Since(p.began)
	if p.left.Store(left); left {
		p.exit.Left = []string{fmt.Sprintf("process group %d", p.group)}
	}
	signal := map[int]string{128 + 15: "SIGTERM", 128 + 9: "SIGKILL"}[p.exit.Code]
	if signal != "" && p.killed.Load() { // a script may have such a code of its own
		p.exit.Code, p.exit.Signal = -1, signal
	}
	close(p.ended)
}

// watch waits for the local end. If no mark has arrived by then, the connection has broken or was
// never made.
func (p *process) watch() {
	exit, err := p.Process.Wait(context.Background())
	if !p.hasEnded() {
		p.err = errors.Join(err, reason(exit.Code, p.held[env.Stderr]))
		close(p.ended)
	}
	if !p.left.Load() {
		p.env.live.Delete(p)
	}
}

// Wait implements env.Process.
func (p *process) Wait(ctx context.Context) (env.Exit, error) {
	if !p.hasEnded() {
		select {
		case <-p.ended:
		case <-ctx.Done():
			return env.Exit{}, context.Cause(ctx)
		}
	}
	return p.exit, p.err
}

func (p *process) hasEnded() bool { return isClosed(p.ended) }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Kill implements env.Process.
func (p *process) Kill(ctx context.Context) error {
	if p.hasEnded() && p.err == nil && !p.left.Load() {
		return nil // its number may be another group's by now
	}
	select {
	case <-p.started:
	default:
		return p.Process.Kill(ctx) // its group is not known yet
	}
	p.killed.Store(true)
	if _, err := p.env.run(ctx, "kill", ".", fmt.Sprintf("group=%d\n%s", p.group, killScript), nil); err != nil {
		return err
	}
	p.left.Store(false)
	p.env.live.Delete(p)
	if _, err := p.Wait(ctx); ctx.Err() != nil {
		return err
	}
	return nil
}

// Close kills all running commands, and the processes that commands have left running. A far side
// that does not answer within four times env.DefaultGrace is given up, and its processes run on.
func (e *Env) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	var errs []error
	for p := range e.live.Range {
		errs = append(errs, p.(*process).Kill(ctx))
	}
	return errors.Join(append(errs, e.local.Close())...)
}
