package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// ReplayOptions configure a replay. The zero value replays from the journal alone.
type ReplayOptions struct {
	// Client answers the model calls, such as from recorded traffic. If it is nil, the journal's
	// answers and faults do.
	Client *llm.Client
	// OnEvent receives the events of the replay.
	OnEvent func(Event)
}

// Divergence is the error of a replay that came to another record than the journal has.
type Divergence struct {
	Record int64           `json:"record"`
	Want   json.RawMessage `json:"want"` // the journal's record without times and durations, or null
	Got    json.RawMessage `json:"got"`
	// Problem says why no session can have written the journal's record there, such as a result
	// without its call.
	Problem string `json:"problem,omitempty"`
}

// Error describes the first difference.
func (d *Divergence) Error() string {
	if d.Problem != "" {
		return fmt.Sprintf("the journal cannot be replayed from record %d on: %s\nit is %s", d.Record, d.Problem,
			d.Want)
	}
	return fmt.Sprintf("the replay diverges at record %d:\nwant %s\n got %s", d.Record, d.Want, d.Got)
}

// Replay runs a session again from its journal. The loop decides anew; the answers of the model,
// the results of tools and the actions of the host come from the journal, as do times and ids.
// Replay runs no tool and, unless Client does it, sends nothing over a network. It returns a
// *[Divergence] for the first record that differs from the journal's, apart from times and
// durations, or that does not fit those before it. It ends whatever the journal holds.
func Replay(ctx context.Context, from Records, o ReplayOptions) error {
	r := &replay{outcomes: map[string][]int{}, waits: map[string]*outcomeWait{}}
	r.changed.L = &r.mu
	misfit, err := r.read(ctx, from)
	if err != nil {
		return err
	}
	var header headerRecord
	if len(r.records) > 0 { // the first record that fits is a header
		header = r.records[0].(headerRecord)
	} else if misfit != nil {
		return misfit
	} else {
		return errors.New("agent: the journal is empty; there is nothing to replay")
	}
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)
	s, err := r.open(header, o)
	if err != nil {
		return err
	}
	r.session = s
	err = errors.Join(r.play(ctx, s), s.outputs.Close())
	if d := r.diverged(); d != nil {
		return d
	}
	if err == nil && misfit != nil {
		return misfit
	}
	return err
}

// read reads the records up to the first that does not fit those before it. It returns that as
// misfit.
func (r *replay) read(ctx context.Context, from Records) (misfit *Divergence, err error) {
	var state State
	for line, err := range from.Records(ctx, 1) {
		if err != nil {
			return nil, fmt.Errorf("agent: cannot read the session: %w", err)
		}
		rec, _, err := decodeRecord(line)
		if err != nil {
			return nil, err
		}
		if err := state.accepts(rec); err != nil {
			return &Divergence{Record: line.N, Want: comparable(line), Got: json.RawMessage("null"),
				Problem: err.Error()}, nil
		}
		state.fold(rec, line.Time)
		if id := callOf(rec); id != "" {
			r.outcomes[id] = append(r.outcomes[id], len(r.records))
		}
		r.lines, r.records = append(r.lines, line), append(r.records, rec)
	}
	return nil, nil
}

// A replay plays a journal as a script. It is the log, the provider, the tools, the clock and the
// host of the session that it runs.
type replay struct {
	lines    []journal.Record
	records  []record
	outcomes map[string][]int // the places in records of each call's results and questions
	stop     context.CancelCauseFunc
	session  *Session
	blobs    journal.Memory // without records

	mu      sync.Mutex
	changed sync.Cond
	waits   map[string]*outcomeWait // of calls that wait for the record before theirs
	at      int                     // how many records were written
	acting  bool                    // a record of the host is being written
	wrong   *Divergence
	asked   map[string]bool // the calls of this step that asked a question
	running map[string]int  // the calls of this step whose record is missing
	waited  time.Time       // the end of the loop's last wait
}

// open returns the session that is run again.
func (r *replay) open(h headerRecord, o ReplayOptions) (*Session, error) {
	client := o.Client
	if client == nil {
		client = &llm.Client{Providers: r.providers(h.Provider)}
	}
	s := newSession(Options{Client: client, Env: nowhere{dir: h.Dir, machine: h.Machine}, ID: h.ID,
		Journal: (*replayLog)(r), OnEvent: o.OnEvent,
		Limits: Limits{MaxJournal: math.MaxInt64}, Subagents: &Subagents{}, Questions: &Questions{}})
	var err error
	if s.registry, err = s.registryOf(&h.Policy, r.tools(h.Tools)); err != nil {
		return nil, err
	}
	s.events.unread, s.events.now, s.now = true, r.now, r.now // the replay's clock cannot fail
	s.confirm, s.delay, s.inOrder, s.accessOf = r.confirm, r.delay, r.inOrder, r.access
	s.pause, s.authorize = r.pause, r.authorize         // which cannot fail
	s.ledger.budget = func() Budget { return Budget{} } // what a budget ended, the journal says
	if err := s.commit(h); err != nil {
		return nil, err
	}
	s.start(Settings{})
	s.events.flush()
	return s, nil
}

// mostIdleSteps limits the steps in a row that write no record. After a crash there is one, because
// calls that had begun have no outcome.
const mostIdleSteps = 3

// play commits the host's records, and lets the loop write all others.
func (r *replay) play(ctx context.Context, s *Session) error {
	for idle := 0; ctx.Err() == nil; idle++ {
		rec, at := r.next()
		if rec == nil {
			s.events.flush()
			return nil
		}
		if idle > mostIdleSteps {
			r.diverge(nil)
			return nil
		}
		if over, err := r.step(ctx, s, rec); over || err != nil {
			return err
		}
		if _, now := r.next(); now > at {
			idle = 0
		}
	}
	return context.Cause(ctx)
}

// step commits the host's next record, or takes one step of the loop. Over means that the session
// is at rest although records are left.
func (r *replay) step(ctx context.Context, s *Session, rec record) (over bool, err error) {
	if r.isHosts(s, rec) && !r.decidedBefore(s) {
		return false, r.commitHosts(s, rec)
	}
	r.expect(s.nextStep())
	step, err := s.step(ctx)
	switch {
	case errors.Is(err, errJournalEnds):
		return false, nil // next returns nil now
	case err != nil:
		return false, err
	case step.Act == ActRest:
		r.diverge(nil)
		return true, nil
	case step.Act == ActWait:
		r.pause(ctx, step.Until)
	}
	return false, nil
}

// expect prepares the replay for the calls of the next step.
func (r *replay) expect(step Step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.running = map[string]bool{}, map[string]int{}
	if step.Act == ActRunCalls {
		for _, call := range step.Calls {
			r.running[call.ID]++
		}
	}
}

// catchUp commits the host's records that stand before the loop's next one. It is called with the
// lock held, by a goroutine that is about to write a record.
func (r *replay) catchUp(ctx context.Context) {
	for ctx.Err() == nil && r.asynchronous() {
		if r.acting {
			r.wait(ctx)
			continue
		}
		r.acting = true
		rec := r.records[r.at]
		r.mu.Unlock()
		err := r.commitHosts(r.session, rec)
		r.mu.Lock()
		r.acting = false
		r.wake()
		if err != nil {
			r.stop(err)
		}
	}
}

// asynchronous reports whether the next record comes from a host or a subagent while the loop
// works, or is an intent. The tools of a replay have no effects, so the loop writes no intents, and
// the journal tells which calls began together.
func (r *replay) asynchronous() bool {
	if r.at >= len(r.records) || r.wrong != nil {
		return false
	}
	_, intent := r.records[r.at].(intentRecord)
	return intent || r.asynchronousAt(r.at)
}

// asynchronousAt reports whether a record may come at any time.
func (r *replay) asynchronousAt(at int) bool {
	switch rec := r.records[at].(type) {
	case queuedRecord, settingRecord, childRecord, noteRecord, spentRecord, renewalRecord, stopRecord:
		return true
	case resultRecord: // the answer to a question of this step, whose call is not one of the step any more
		return r.asked[rec.CallID]
	case inputRecord: // after a crash an open input goes on
		for _, before := range slices.Backward(r.records[:at]) {
			switch before := before.(type) {
			case inputRecord:
				return rec.Continue
			case endRecord:
				if !before.Session {
					return false
				}
			}
		}
	}
	return false
}

// decidedBefore reports whether the host's next record came during a step of the loop: the loop's
// next record is the outcome of the step that the loop would take now.
func (r *replay) decidedBefore(s *Session) bool {
	step := s.nextStep()
	epoch, by := s.epoch()
	r.mu.Lock()
	defer r.mu.Unlock()
	others := false // settings before the loop's next record begin another epoch
	for i, rec := range r.records[r.at:] {
		if r.asynchronousAt(r.at + i) {
			if set, ok := rec.(settingRecord); ok && by.set(&set) {
				others = true
			}
			continue
		}
		switch rec := rec.(type) {
		case answerRecord:
			return step.Act == ActCallModel && rec.begunIn(epoch, others)
		case faultRecord:
			return step.Act == ActCallModel && rec.begunIn(epoch, others)
		case intentRecord, resultRecord, awaitRecord:
			return step.Act == ActRunCalls
		case compactRecord:
			return step.Act == ActCompact
		case turnRecord:
			return step.Act == ActConfirm && rec.Origin == OriginStop
		case endRecord:
			return !rec.Session && rec.Reason == step.Reason && (step.Act == ActSummarize || step.Act == ActConfirm)
		}
		return false
	}
	return false
}

// isHosts reports whether the next record is one of the host's, while the loop does nothing.
func (r *replay) isHosts(s *Session, rec record) bool {
	switch rec := rec.(type) {
	case headerRecord, historyRecord, queuedRecord, settingRecord, childRecord, noteRecord, spentRecord, renewalRecord,
		stopRecord:
		return true
	case inputRecord:
		return rec.Queued == 0
	case resultRecord: // the answer to a question
		s.mu.Lock()
		defer s.mu.Unlock()
		call := s.state.open(rec.CallID)
		return call != nil && call.awaits != nil && s.state.Input != nil && s.state.Input.Ending == ""
	case endRecord: // time is not replayed, so the loop cannot find that the budget ended
		return rec.Session || rec.Reason == ReasonBudgetTime
	}
	return false
}

// commitHosts commits a record of the host. If the session was resumed after its end, the replay
// goes on.
func (r *replay) commitHosts(s *Session, rec record) error {
	switch end, isEnd := rec.(endRecord); {
	case rec == nil:
		return nil
	case isEnd && end.Session:
		if err := s.commit(rec); err != nil {
			return err
		}
		if next, _ := r.next(); next != nil {
			s.events.reopen()
			s.events.emit(s.state.resumedBy(next))
		}
		return nil
	}
	if set, ok := rec.(settingRecord); ok && set.Tools != nil {
		var err error
		if set.registry, err = tool.NewRegistry(r.tools(set.Tools)...); err != nil {
			return err
		}
		rec = set
	}
	return s.commit(rec)
}

// next returns the next record and its index, nil at the end.
func (r *replay) next() (rec record, at int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at = r.at; at >= len(r.records) || r.wrong != nil {
		return nil, at
	}
	return r.records[at], at
}

// wait waits for a change or the end of ctx. It is called with the lock held.
func (r *replay) wait(ctx context.Context) {
	stop := context.AfterFunc(ctx, r.broadcast)
	defer stop()
	r.changed.Wait()
}

func (r *replay) broadcast() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed.Broadcast()
}

// pause moves the clock to the time that the loop waits for, even if the next record is older.
func (r *replay) pause(_ context.Context, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waited = until
}

// now returns the time of the next record, or the end of the loop's last wait if that is later.
func (r *replay) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.lines[min(r.at, len(r.lines)-1)].Time; now.After(r.waited) {
		return now
	}
	return r.waited
}

func (r *replay) diverged() *Divergence {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

// diverge ends the replay with a record that the journal does not have, nil if the replay has none.
func (r *replay) diverge(got *journal.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.divergeAt(got)
}

func (r *replay) divergeAt(got *journal.Record) {
	if r.wrong != nil {
		return
	}
	r.wrong = &Divergence{Record: int64(r.at) + 1, Want: json.RawMessage("null"), Got: json.RawMessage("null")}
	if r.at < len(r.lines) {
		r.wrong.Want = comparable(r.lines[r.at])
	}
	if got != nil {
		r.wrong.Got = comparable(*got)
	}
	r.stop(r.wrong)
	r.wake()
}
