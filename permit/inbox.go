package permit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/tool"
)

// Inbox keeps what people are asked, and takes their answers by id: whether a tool call may run,
// and what a tool or the model wants to know. It is for programs whose people are elsewhere, such
// as behind a web page. Its method Approve is an [Asker], and Question answers the questions of
// [tool.Question]. Both wait until Decide or Reply brings the answer, the context or the time limit
// ends, or Close is called. Each ask ends exactly once.
//
// All methods are safe for concurrent use. The zero value is not usable; see [NewInbox].
type Inbox struct {
	opened func(Ask)
	ended  func(id string, how End)
	prefix string // makes ids of other processes unknown

	person func(context.Context, Ask) error // asks one at a terminal as well; nil if there is none

	mu      sync.Mutex
	limit   time.Duration
	last    int
	open    []*waiting     // the oldest first
	ends    map[string]End // the latest ones
	refusal string         // why nobody can be asked; empty while somebody can
}

// Ask is what people are asked: it has either an Approval or a Question, which must not be changed.
type Ask struct {
	ID       string
	Approval *Question      // whether a tool call may run; [Inbox.Decide] answers it
	Question *tool.Question // [Inbox.Reply] answers it
}

// waiting holds an ask and, once it has ended, its answer.
type waiting struct {
	Ask
	limit    time.Duration
	canceled func() bool // reports whether nobody waits for the answer any more
	done     chan struct{}

	// The following fields are set before done is closed.
	end      End
	decision Answer
	reply    tool.Answer
	failed   error // why the person at the terminal cannot answer, which ended the ask
}

// End says how an ask ended.
type End string

// The ends of asks.
const (
	EndAnswered  End = "answered"
	EndTimedOut  End = "timed_out" // nobody answered within the limit; the call is denied
	EndCancelled End = "cancelled" // what asked was interrupted, or nobody can answer any more
)

// Elsewhere is the cause of the end of a question to the person of [Inbox.Beside] that needs no
// answer any more.
type Elsewhere struct {
	End End // EndAnswered or EndTimedOut
	// Allowed is the answer to a question about a call.
	Allowed bool
}

// Error implements error.
func (e *Elsewhere) Error() string {
	if e.End == EndTimedOut {
		return "nobody answered in time"
	}
	return "it was answered elsewhere"
}

// NewInbox returns an Inbox without a time limit. It calls opened with each new ask and later ended
// with its id, one call at a time and in this order. Either may be nil. They must return at once
// and not call the Inbox.
func NewInbox(opened func(Ask), ended func(id string, how End)) *Inbox {
	if opened == nil {
		opened = func(Ask) {}
	}
	if ended == nil {
		ended = func(string, End) {}
	}
	return &Inbox{opened: opened, ended: ended, prefix: strings.ToLower(rand.Text()[:6]), ends: map[string]End{}}
}

// Beside has a person at a terminal asked as well. The first answer counts. If it comes from
// elsewhere, the context of the person's question ends with an [Elsewhere]; if the person's
// question fails, so does the ask. Beside is called before the first ask.
func (a *Inbox) Beside(approve Asker, reply func(context.Context, tool.Question) (tool.Answer, error)) {
	a.person = func(ctx context.Context, asked Ask) error {
		if asked.Approval != nil {
			answer, err := approve(ctx, *asked.Approval)
			if err == nil {
				err = a.Decide(asked.ID, answer)
			}
			return err
		}
		answer, err := reply(ctx, *asked.Question)
		if err == nil {
			err = a.Reply(asked.ID, answer)
		}
		return err
	}
}

// SetLimit bounds how long later asks wait. Zero means that they wait for ever.
func (a *Inbox) SetLimit(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = d
}

// Open returns the asks that wait for an answer, the oldest first.
func (a *Inbox) Open() []Ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	var open []Ask
	for _, w := range a.open {
		open = append(open, w.Ask)
	}
	return open
}

// Approve implements [Asker]. A call is denied if its ask times out or if nobody can be asked any
// more.
func (a *Inbox) Approve(ctx context.Context, q Question) (Answer, error) {
	switch w := a.ask(ctx, Ask{Approval: &q}); {
	case w.failed != nil:
		return Answer{}, w.failed
	case w.end == EndAnswered:
		return w.decision, nil
	case w.end == EndTimedOut:
		return Answer{Reason: fmt.Sprintf(
			"nobody answered the question about it within %s. Do without it, or say what you would do and why",
			w.limit)}, nil
	case ctx.Err() != nil:
		return Answer{}, context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return Answer{Reason: a.refusal}, nil
}

// Question answers a question of a tool or the model.
func (a *Inbox) Question(ctx context.Context, q tool.Question) (tool.Answer, error) {
	switch w := a.ask(ctx, Ask{Question: &q}); {
	case w.failed != nil:
		return tool.Answer{}, w.failed
	case w.end == EndAnswered:
		return w.reply, nil
	case w.end == EndTimedOut:
		return tool.Answer{}, fmt.Errorf(
			"nobody answered within %s; go on without the answer if you can, and say what you assumed", w.limit)
	case ctx.Err() != nil:
		return tool.Answer{}, context.Cause(ctx)
	}
	return tool.Answer{}, tool.ErrNobody
}

// ask opens an ask, also for the person at the terminal, and returns it when it has ended. If
// nobody can be asked, it is cancelled at once.
func (a *Inbox) ask(ctx context.Context, asked Ask) *waiting {
	w := a.begin(ctx, asked)
	if w == nil {
		return &waiting{end: EndCancelled}
	}
	if a.person != nil {
		defer a.askPerson(ctx, w)()
	}
	a.wait(ctx, w)
	return w
}

// Decide answers an ask about a call. An error says that there is no such ask, that it has ended,
// or why the answer does not fit; in the last case the ask goes on waiting.
func (a *Inbox) Decide(id string, answer Answer) error {
	return a.answer(id, func(w *waiting) error {
		switch {
		case w.Approval == nil:
			return fmt.Errorf("the ask %q is a question, not about a tool call", id)
		case answer.Verdict == tool.Ask:
			return errors.New("a decision allows or denies")
		case answer.Mode != "" && w.Approval.Plan == "":
			return fmt.Errorf("a mode follows the approval of a plan, and the ask %q is not about one", id)
		case answer.Remember && w.Approval.Allow == nil:
			return fmt.Errorf("there is nothing to remember: the ask %q names no rules that would allow such calls", id)
		}
		w.decision = answer
		return nil
	})
}

// Reply answers an ask that is a question. Its errors are those of Decide. An answer that does not
// fit the form of the question leads to another ask, which says so.
func (a *Inbox) Reply(id string, answer tool.Answer) error {
	return a.answer(id, func(w *waiting) error {
		if w.Ask.Question == nil {
			return fmt.Errorf("the ask %q is about a tool call, not a question", id)
		}
		w.reply = answer
		return nil
	})
}

// Close cancels all asks and refuses later ones. The reason says why nobody can answer, for the
// model: "the client has gone".
func (a *Inbox) Close(reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal != "" {
		return
	}
	a.refusal = "it needs a person's approval, and nobody is there to give it (" + reason +
		"). Do without it, or say what you would do and why"
	for _, w := range slices.Clone(a.open) {
		a.finish(w, EndCancelled)
	}
}

// begin opens an ask and gives it an id. It returns nil if nobody can be asked.
func (a *Inbox) begin(ctx context.Context, asked Ask) *waiting {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal != "" {
		return nil
	}
	a.last++
	asked.ID = a.id(a.last)
	delete(a.ends, a.id(a.last-maxEnded))
	w := &waiting{Ask: asked, limit: a.limit, canceled: func() bool { return ctx.Err() != nil },
		done: make(chan struct{})}
	a.open = append(a.open, w)
	a.opened(asked)
	return w
}

// id returns the id of the ask with a number.
func (a *Inbox) id(number int) string { return fmt.Sprintf("%s-%d", a.prefix, number) }

// askPerson also puts an ask to the person at the terminal. The caller calls withdraw when the ask
// has ended: it ends the person's question and waits for that, so that the terminal is free for the
// next one.
func (a *Inbox) askPerson(ctx context.Context, w *waiting) (withdraw func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.person(ctx, w.Ask); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			if w.end == "" {
				w.failed = err
				a.finish(w, EndCancelled)
			}
		}
	}()
	return func() {
		cancel(&Elsewhere{End: w.end, Allowed: w.decision.Verdict == tool.Allow})
		<-done
	}
}

// wait waits for the end of an ask.
func (a *Inbox) wait(ctx context.Context, w *waiting) {
	var over <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		over = timer.C
	}
	end := EndCancelled
	select {
	case <-w.done:
		return
	case <-over:
		end = EndTimedOut
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finish(w, end) // an answer may have come first
}

// answer ends an open ask by an answer that take accepts.
func (a *Inbox) answer(id string, take func(*waiting) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := slices.IndexFunc(a.open, func(w *waiting) bool { return w.ID == id })
	if at >= 0 && a.open[at].canceled() {
		a.finish(a.open[at], EndCancelled)
		at = -1
	}
	if at < 0 {
		return a.notOpen(id)
	}
	w := a.open[at]
	if err := take(w); err != nil {
		return err
	}
	a.finish(w, EndAnswered)
	return nil
}

// notOpen returns the error for an answer to an ask that is not open. a.mu is held.
func (a *Inbox) notOpen(id string) error {
	switch a.ends[id] {
	case EndAnswered:
		return fmt.Errorf("the ask %q has been answered already", id)
	case EndTimedOut:
		return fmt.Errorf("the ask %q has timed out, so the answer came too late", id)
	case EndCancelled:
		return fmt.Errorf("the ask %q was cancelled, so the answer came too late", id)
	}
	return fmt.Errorf("there is no ask %q", id)
}

// maxEnded limits the asks whose ends an Inbox remembers.
const maxEnded = 4096

// finish ends an ask unless it has ended. a.mu is held.
func (a *Inbox) finish(w *waiting, end End) {
	if w.end != "" {
		return
	}
	w.end, a.ends[w.ID] = end, end
	a.open = slices.DeleteFunc(a.open, func(open *waiting) bool { return open == w })
	close(w.done)
	a.ended(w.ID, end)
}
