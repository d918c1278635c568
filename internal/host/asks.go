package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// Inbox lets a program answer by id what a person would be asked: whether a tool call may run, and what a tool or the model wants to know.
// Its method Approve is an [Asker], and Question answers [agent.Questions]. Both wait until Decide or Reply brings the answer, the context
// or the time limit ends, or Close is called. Each ask ends exactly once.
//
// All methods are safe for concurrent use. The zero value is not usable; see [NewInbox].
type Inbox struct {
	tell     func(Event)
	describe func(Question) string
	prefix   string // makes ids of other processes unknown

	// person and questioned ask a person at a terminal as well; nil if there is none.
	person     Asker
	questioned func(context.Context, tool.Question) (tool.Answer, error)

	mu      sync.Mutex
	limit   time.Duration
	last    int
	open    map[string]*ask
	ended   map[string]AskEnd // the latest ones
	order   []string          // of ended
	refusal string            // why nobody can be asked; empty while somebody can
}

// ask holds an ask and, once it has ended, its answer.
type ask struct {
	id       string
	event    Event // an *ApprovalRequested or a *QuestionAsked
	limit    time.Duration
	canceled func() bool // reports whether nobody waits for the answer any more
	done     chan struct{}

	// The following fields are set before done is closed.
	end      AskEnd
	decision Answer
	reply    tool.Answer
	failed   error // why the person at the terminal cannot answer, which ended the ask
}

// Elsewhere is the cause with which the question to the person of [Inbox.Beside] ends when it needs no answer any more.
type Elsewhere struct {
	End AskEnd // answered or timed out
	// Allowed is the answer to a question about a call.
	Allowed bool
}

// Error implements error.
func (e *Elsewhere) Error() string {
	if e.End == AskTimedOut {
		return "nobody answered in time"
	}
	return "it was answered elsewhere"
}

// The kinds of events about asks.
const (
	KindApprovalRequested agent.Kind = "APPROVAL_REQUESTED"
	KindQuestionAsked     agent.Kind = "QUESTION"
	KindAskEnded          agent.Kind = "ASK_ENDED"
)

// ApprovalRequested asks whether a tool call may run. [Inbox.Decide] answers it.
type ApprovalRequested struct {
	agent.EventHeader
	ID     string `json:"ask"`
	CallID string `json:"call_id"`
	// AgentID names the subagent that made the call. It is empty for the session itself.
	AgentID string `json:"agent_id,omitempty"`
	Tool    string `json:"tool"`
	// Arguments holds a JSON object, or {"_raw": "..."} if the arguments are none.
	Arguments json.RawMessage `json:"arguments"`
	Access    tool.Access     `json:"access"`
	// The following fields are those of [Question].
	Rule    string   `json:"rule,omitempty"`
	Reason  string   `json:"reason,omitempty"`
	Allow   []string `json:"allow,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Links   []Link   `json:"links,omitempty"`
	Refused []string `json:"refused,omitempty"`
	Plan    string   `json:"plan,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Text tells a person all of this.
	Text string `json:"text,omitempty"`
}

// QuestionAsked asks a question of the model, or of what Source names. [Inbox.Reply] answers it. The fields are those of [tool.Question].
type QuestionAsked struct {
	agent.EventHeader
	ID       string          `json:"ask"`
	CallID   string          `json:"call_id"`
	Question string          `json:"question"`
	Options  []string        `json:"options,omitempty"`
	Form     json.RawMessage `json:"form,omitempty"`
	Source   string          `json:"source,omitempty"`
	Problem  string          `json:"problem,omitempty"`
}

// AskEnded tells that an ask has ended.
type AskEnded struct {
	agent.EventHeader
	ID  string `json:"ask"`
	End AskEnd `json:"how"`
}

// AskEnd says how an ask ended.
type AskEnd string

// The ends of asks.
const (
	AskAnswered  AskEnd = "answered"
	AskTimedOut  AskEnd = "timed_out" // nobody answered within the limit; the call is denied
	AskCancelled AskEnd = "cancelled" // what asked was interrupted, or nobody can answer any more
)

// Head implements [Event].
func (e *ApprovalRequested) Head() *agent.EventHeader { return &e.EventHeader }

// Head implements [Event].
func (e *QuestionAsked) Head() *agent.EventHeader { return &e.EventHeader }

// Head implements [Event].
func (e *AskEnded) Head() *agent.EventHeader { return &e.EventHeader }

// NewInbox returns an Inbox without a time limit. It gives tell each new ask, as an [ApprovalRequested] or [QuestionAsked], and later its
// [AskEnded]; tell must not wait. Describe returns the text for people about a call; nil means that there is none.
func NewInbox(tell func(Event), describe func(Question) string) *Inbox {
	return &Inbox{tell: tell, describe: describe, prefix: strings.ToLower(rand.Text()[:6]), open: map[string]*ask{}, ended: map[string]AskEnd{}}
}

// Beside has a person at a terminal asked as well. The first answer counts. If it comes from elsewhere, the context of the person's question
// ends with an [Elsewhere]; if the person's question fails, so does the ask. Beside is called before the first ask.
func (a *Inbox) Beside(approve Asker, reply func(context.Context, tool.Question) (tool.Answer, error)) {
	a.person, a.questioned = approve, reply
}

// SetLimit bounds how long later asks wait. Zero means that they wait for ever.
func (a *Inbox) SetLimit(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limit = d
}

// Open returns the asks that wait for an answer, the oldest first.
func (a *Inbox) Open() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	var events []Event
	for _, w := range a.sorted() {
		events = append(events, w.event)
	}
	return events
}

// Approve implements [Asker]. A call is denied if its ask times out or if nobody can be asked any more.
func (a *Inbox) Approve(ctx context.Context, q Question) (Answer, error) {
	ev := &ApprovalRequested{EventHeader: agent.EventHeader{Kind: KindApprovalRequested}, CallID: q.Call.ID, AgentID: q.AgentID, Tool: q.Call.Name,
		Arguments: objectOf(q.Call.Args), Access: q.Access, Rule: q.Rule, Reason: q.Reason, Allow: q.Allow, Dir: q.Dir, Links: q.Links,
		Refused: q.Refused, Plan: q.Plan, Problem: q.Problem}
	if a.describe != nil {
		ev.Text = a.describe(q)
	}
	w := a.begin(ctx, ev, &ev.ID)
	if w == nil {
		return Answer{Reason: a.refuses()}, nil
	}
	if a.person != nil {
		defer a.askBeside(ctx, w, func(ctx context.Context) error {
			answer, err := a.person(ctx, q)
			if err == nil {
				err = a.Decide(w.id, answer)
			}
			return err
		})()
	}
	switch end := a.wait(ctx, w); {
	case w.failed != nil:
		return Answer{}, w.failed
	case end == AskAnswered:
		return w.decision, nil
	case end == AskTimedOut:
		return Answer{Reason: fmt.Sprintf("nobody answered the question about it within %s. Do without it, or say what you would do and why", w.limit)}, nil
	}
	if err := context.Cause(ctx); err != nil {
		return Answer{}, err
	}
	return Answer{Reason: a.refuses()}, nil
}

// Question answers a question, as [agent.Questions].Answer does.
func (a *Inbox) Question(ctx context.Context, q tool.Question) (tool.Answer, error) {
	ev := &QuestionAsked{EventHeader: agent.EventHeader{Kind: KindQuestionAsked}, CallID: q.CallID, Question: q.Text, Options: q.Options, Form: q.Form,
		Source: q.Source, Problem: q.Problem}
	w := a.begin(ctx, ev, &ev.ID)
	if w == nil {
		return tool.Answer{}, tool.ErrNobody
	}
	if a.questioned != nil {
		defer a.askBeside(ctx, w, func(ctx context.Context) error {
			answer, err := a.questioned(ctx, q)
			if err == nil {
				err = a.Reply(w.id, answer)
			}
			return err
		})()
	}
	switch end := a.wait(ctx, w); {
	case w.failed != nil:
		return tool.Answer{}, w.failed
	case end == AskAnswered:
		return w.reply, nil
	case end == AskTimedOut:
		return tool.Answer{}, fmt.Errorf("nobody answered within %s; go on without the answer if you can, and say what you assumed", w.limit)
	case ctx.Err() != nil:
		return tool.Answer{}, context.Cause(ctx)
	}
	return tool.Answer{}, tool.ErrNobody
}

// Decide answers an [ApprovalRequested]. An error says that there is no such ask, that it has ended, or why the answer does not fit; in the
// last case the ask goes on waiting.
func (a *Inbox) Decide(id string, answer Answer) error {
	return a.answer(id, func(w *ask) error {
		asked, ok := w.event.(*ApprovalRequested)
		switch {
		case !ok:
			return fmt.Errorf("the ask %q is a question, not about a tool call", id)
		case answer.Verdict == tool.Ask:
			return errors.New("a decision allows or denies")
		case answer.Mode != "" && asked.Plan == "":
			return fmt.Errorf("a mode follows the approval of a plan, and the ask %q is not about one", id)
		case answer.Remember && asked.Allow == nil:
			return fmt.Errorf("there is nothing to remember: the ask %q names no rules that would allow such calls", id)
		}
		w.decision = answer
		return nil
	})
}

// Reply answers a [QuestionAsked]. Its errors are those of Decide. An answer that does not fit the form of the question leads to another ask,
// which says so.
func (a *Inbox) Reply(id string, answer tool.Answer) error {
	return a.answer(id, func(w *ask) error {
		if _, ok := w.event.(*QuestionAsked); !ok {
			return fmt.Errorf("the ask %q is about a tool call, not a question", id)
		}
		w.reply = answer
		return nil
	})
}

// Close cancels all asks and refuses later ones. The reason says why nobody can answer, for the model: "the client has gone".
func (a *Inbox) Close(reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal != "" {
		return
	}
	a.refusal = "it needs a person's approval, and nobody is there to give it (" + reason + "). Do without it, or say what you would do and why"
	for _, w := range a.sorted() {
		a.finish(w, AskCancelled)
	}
}

// refuses returns why nobody can be asked.
func (a *Inbox) refuses() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.refusal
}

// begin makes an event an open ask, and sets its id. It returns nil if nobody can be asked.
func (a *Inbox) begin(ctx context.Context, ev Event, id *string) *ask {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal != "" {
		return nil
	}
	a.last++
	*id = fmt.Sprintf("%s-%d", a.prefix, a.last)
	w := &ask{id: *id, event: ev, limit: a.limit, canceled: func() bool { return ctx.Err() != nil }, done: make(chan struct{})}
	a.open[*id] = w
	a.tell(ev)
	return w
}

// askBeside puts an ask to the person at the terminal, too. The function that it returns is called when the ask has ended: it ends the
// person's question and waits for that, so that the next one finds the terminal free.
func (a *Inbox) askBeside(ctx context.Context, w *ask, put func(context.Context) error) (withdraw func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := put(ctx); err != nil {
			a.mu.Lock()
			defer a.mu.Unlock()
			if w.end == "" {
				w.failed = err
				a.finish(w, AskCancelled)
			}
		}
	}()
	return func() {
		cancel(&Elsewhere{End: w.end, Allowed: w.decision.Verdict == tool.Allow})
		<-done
	}
}

// wait waits for the end of an ask.
func (a *Inbox) wait(ctx context.Context, w *ask) AskEnd {
	var over <-chan time.Time
	if w.limit > 0 {
		timer := time.NewTimer(w.limit)
		defer timer.Stop()
		over = timer.C
	}
	end := AskCancelled
	select {
	case <-w.done:
		return w.end
	case <-over:
		end = AskTimedOut
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.finish(w, end) // an answer may have come first
	return w.end
}

// answer ends an open ask by an answer that take accepts.
func (a *Inbox) answer(id string, take func(*ask) error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.open[id]
	if w != nil && w.canceled() {
		a.finish(w, AskCancelled)
		w = nil
	}
	if w == nil {
		return a.lateness(id)
	}
	if err := take(w); err != nil {
		return err
	}
	a.finish(w, AskAnswered)
	return nil
}

// lateness returns why an ask takes no answer. a.mu is held.
func (a *Inbox) lateness(id string) error {
	switch a.ended[id] {
	case AskAnswered:
		return fmt.Errorf("the ask %q has been answered already", id)
	case AskTimedOut:
		return fmt.Errorf("the ask %q has timed out, so the answer came too late", id)
	case AskCancelled:
		return fmt.Errorf("the ask %q was cancelled, so the answer came too late", id)
	}
	return fmt.Errorf("there is no ask %q", id)
}

// maxEnded limits the asks of which it is known how they ended.
const maxEnded = 4096

// finish ends an ask unless it has ended. a.mu is held.
func (a *Inbox) finish(w *ask, end AskEnd) {
	if w.end != "" {
		return
	}
	w.end = end
	delete(a.open, w.id)
	if len(a.order) == maxEnded {
		delete(a.ended, a.order[0])
		a.order = a.order[1:]
	}
	a.ended[w.id], a.order = end, append(a.order, w.id)
	close(w.done)
	a.tell(&AskEnded{EventHeader: agent.EventHeader{Kind: KindAskEnded}, ID: w.id, End: end})
}

// sorted returns the open asks, the oldest first. a.mu is held.
func (a *Inbox) sorted() []*ask {
	return slices.SortedFunc(maps.Values(a.open), func(x, y *ask) int {
		return cmp.Or(len(x.id)-len(y.id), strings.Compare(x.id, y.id)) // by their numbers
	})
}

// objectOf returns the arguments of a call as the JSON object that TOOL_CALL_START has.
func objectOf(args string) json.RawMessage {
	if text := strings.TrimSpace(args); strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	raw, err := json.Marshal(map[string]string{"_raw": args})
	if err != nil { // a string can always be encoded
		return json.RawMessage("{}")
	}
	return raw
}
