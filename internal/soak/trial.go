package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/orphans"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
)

// Life is one life of a session, from the start or a resume to its end.
type Life struct {
	ID    string // of the session to resume, or one for a new session
	Dir   string // the working directory
	URL   string // of the provider
	Store journal.Store
	// Resume reports whether Store has the session.
	Resume bool
	// Wild reports whether there are faults. If not, the session has to succeed.
	Wild bool
	// IdleTimeout bounds each silence of the model.
	IdleTimeout time.Duration
	// Dice holds the random numbers by which the test makes its own choices.
	Dice *rand.Rand
	// Change has to be called with the session's options before it starts.
	Change func(*agent.Options)
}

// Open starts or resumes the session of a life. The function that it returns closes everything but
// the session.
type Open func(ctx context.Context, l *Life) (s *agent.Session, done func() error, err error)

// trial is one session with everything that happens to it.
type trial struct {
	*state
	name string
	dir  string
}

// state holds what the trials of a process share.
type state struct {
	open    Open
	killAny bool
	check   func(dir string) error // looks at the files of a trial at its end
	seed    uint64
	url     string
	event   func() // called for each event

	children *sync.Mutex // held while a process that runs trials starts, and while any is killed
	child    int         // the id of the last such process, which only run.killed may kill
	tally
}

func (t *trial) dice(what string, n int) *rand.Rand {
	return (&models{seed: t.seed}).dice(t.name, what, n)
}

// whole runs all lives of a trial, and then removes its directory.
func (t *trial) whole(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(t.dir, "work"), 0o700); err != nil {
		return err
	}
	for n := range 1 + t.dice("lives", 0).IntN(3) {
		if err := t.wild(ctx, n); err != nil {
			return fmt.Errorf("life %d: %w", n, err)
		}
	}
	return t.finish(ctx)
}

// hang bounds a life. It is so long that only a session that hangs reaches it.
const hang = 5 * time.Minute

// life prepares a life.
func (t *trial) life(ctx context.Context, g *gremlin, n int, way string) (*Life, error) {
	dir := journal.NewDir(filepath.Join(t.dir, "journals"))
	l := &Life{ID: t.name, Dir: filepath.Join(t.dir, "work"), URL: t.url + "/" + way + "/" + t.name,
		Store: store{dir, g}, Wild: g.wild, IdleTimeout: 200 * time.Millisecond, Dice: t.dice("open "+way, n)}
	if !g.wild {
		l.IdleTimeout = time.Minute
	}
	entries, err := dir.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := t.found(ctx, dir, e.ID, l); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// found makes a life resume a session of the store, unless that is a subagent's or was killed
// before its first record.
func (t *trial) found(ctx context.Context, dir *journal.Dir, id string, l *Life) (err error) {
	r, err := dir.Read(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Len() == 0 {
		return dir.Remove(ctx, id)
	}
	opening, err := agent.ReadOpening(r.Records(ctx, 1))
	if err != nil || opening.Parent != "" {
		return err
	}
	l.ID, l.Resume = id, true
	return nil
}

// wild runs a life with faults, which may end in any way that is allowed.
func (t *trial) wild(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, hang, errHang)
	defer cancel()
	g := &gremlin{wild: true, made: &t.hostFaults, dice: t.dice("gremlin", n)}
	l, err := t.life(ctx, g, n, "wild")
	if err != nil {
		return err
	}
	plan := newPlan(t, g, t.dice("plan", n))
	l.Change = func(o *agent.Options) {
		g.addFaults(o)
		o.Retry = llm.RetryPolicy{Max: 2, Base: time.Millisecond, Cap: 5 * time.Millisecond}
		o.OnEvent = plan.onEvent
	}
	session, done, err := t.open(ctx, l)
	if err != nil {
		return t.allowed("starting", err)
	}
	t.lives.Add(1)
	plan.begin(ctx, session)
	for i := range 1 + plan.dice.IntN(2) {
		_, err = session.Submit(ctx, fmt.Sprintf("Task %d.%d of %s", n, i, t.name))
		if err = t.allowed("submitting", err); err != nil {
			break
		}
	}
	if plan.dice.IntN(5) == 0 {
		err = errors.Join(err, t.allowed("compacting", session.Compact(ctx)))
	}
	err = errors.Join(err, plan.end(), t.allowed("closing", session.Close()))
	if g.severed.Load() {
		t.crashes.Add(1)
	}
	return errors.Join(err, done())
}

var errHang = errors.New("the session hangs")

// allowed returns nil for an error with which a life with faults may go on or end: any but that of
// a session that hangs. What is wrong with the session shows in the next life, which has to start,
// and in the last one. Starting may fail only for the faults of the soak.
func (t *trial) allowed(what string, err error) error {
	var broken *agent.HostError
	started := what != "starting" || errors.Is(err, errFault) || errors.As(err, &broken)
	if err == nil || started && !errors.Is(err, errHang) {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// finish runs the last life, without faults, checks its end and its journals, and removes the
// trial's directory. If a model call had failed for good when the session was killed, the next life
// reports that once, and one more life is the last.
func (t *trial) finish(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, hang, errHang)
	defer cancel()
	err := t.calm(ctx, 0)
	if earlier := new(llm.Error); errors.As(err, &earlier) {
		err = t.calm(ctx, 1)
	}
	if err != nil {
		return fmt.Errorf("the last life: %w", err)
	}
	if err := t.replay(ctx); err != nil {
		return err
	}
	if t.check != nil {
		if err := t.check(t.dir); err != nil {
			return err
		}
	}
	return os.RemoveAll(t.dir)
}

// calm runs a life without faults.
func (t *trial) calm(ctx context.Context, n int) error {
	l, err := t.life(ctx, &gremlin{}, n, "calm")
	if err != nil {
		return err
	}
	l.Change = func(o *agent.Options) { o.OnEvent = func(agent.Event) { t.event() } }
	session, done, err := t.open(ctx, l)
	if err != nil {
		return err
	}
	t.lives.Add(1)
	err = t.last(ctx, session)
	return errors.Join(err, session.Close(), done())
}

// last brings the session to its end.
func (t *trial) last(ctx context.Context, session *agent.Session) error {
	// it is an error if there is no input to continue; whatever else it is fails Submit too
	_, before := session.Continue(ctx)
	result, err := session.Submit(ctx, "Finish.")
	if err != nil {
		return errors.Join(before, err)
	}
	if result.Reason != agent.ReasonCompleted {
		return fmt.Errorf("it ended with %s", result.Reason)
	}
	return nil
}

// replay reads and replays all journals of the trial, also those of subagents.
func (t *trial) replay(ctx context.Context) (err error) {
	dir := journal.NewDir(filepath.Join(t.dir, "journals"))
	entries, err := dir.List(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		r, err := dir.Read(ctx, e.ID)
		if err != nil {
			return err
		}
		if r.Len() > 0 { // a subagent may have been killed before its first record
			err = agent.Replay(ctx, r, agent.ReplayOptions{})
			t.replays.Add(1)
		}
		if err = errors.Join(err, r.Close()); err != nil {
			return fmt.Errorf("the journal %s: %w", e.ID, err)
		}
	}
	return nil
}

// plan holds what the host does to a session in one life.
type plan struct {
	*trial
	*gremlin
	dice *rand.Rand

	mu      sync.Mutex
	events  int
	at      map[int]string // what to do, by the number of events before it; nil after the end
	session *agent.Session
	ctx     context.Context
	actions sync.WaitGroup
	errs    []error
}

func newPlan(t *trial, g *gremlin, dice *rand.Rand) *plan {
	p := &plan{trial: t, gremlin: g, dice: dice, at: map[int]string{}}
	what := []string{"steer", "steer", "follow up", "note", "interrupt", "abort", "release", "close", "crash", "kill",
		"kill", "kill"}
	for range dice.IntN(5) {
		p.at[1+dice.IntN(60)] = what[dice.IntN(len(what))]
	}
	return p
}

// begin names the session. Events before that are only counted.
func (p *plan) begin(ctx context.Context, s *agent.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.session = ctx, s
}

// onEvent implements [agent.Options.OnEvent].
func (p *plan) onEvent(agent.Event) {
	p.event()
	if p.chance(5000) {
		panic("a bug of the soak's OnEvent")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events++
	if what := p.at[p.events]; what != "" && p.session != nil {
		n := p.events
		p.actions.Go(func() { p.do(what, n) })
	}
}

// do does something to the session after n events, in a goroutine of its own.
func (p *plan) do(what string, n int) {
	var err error
	switch what {
	case "steer":
		err = p.session.Steer(p.ctx, "Look again.")
	case "follow up":
		err = p.session.FollowUp(p.ctx, "And then look again.")
	case "note":
		err = p.session.Note(p.ctx, "soak", []byte("1"), "A note.")
	case "interrupt":
		p.session.Interrupt()
	case "abort":
		p.session.Abort()
	case "release":
		err = p.session.Release(p.ctx)
	case "close":
		err = p.session.Close()
	case "crash":
		p.severed.Store(true)
	case "kill":
		dir := p.dir + "/"
		if p.killAny {
			dir = ""
		}
		p.children.Lock()
		killed := killOne(p.trial.dice("kill", n), dir, p.child)
		p.children.Unlock()
		if killed {
			p.kills.Add(1)
		} else { // nothing runs now
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.at != nil {
				p.at[p.events+1] = what
			}
		}
	}
	if err = p.allowed(what, err); err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, err)
	}
}

// end waits for the actions of the plan. The session is closed right after that.
func (p *plan) end() error {
	p.mu.Lock()
	p.at = nil
	p.mu.Unlock()
	p.actions.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// killOne kills a process below this one that works in a directory or, if that is empty, in any,
// except one. It reports whether there was one.
func killOne(dice *rand.Rand, dir string, except int) bool {
	all := slices.DeleteFunc(orphans.Below(), func(pid int) bool {
		cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
		return pid == except || err != nil || !strings.HasPrefix(cwd, dir)
	})
	if len(all) == 0 {
		return false
	}
	p, err := os.FindProcess(all[dice.IntN(len(all))])
	if err != nil {
		return false
	}
	defer p.Release() // it only forgets the process
	return slices.Contains(orphans.Below(), p.Pid) && p.Kill() == nil
}
