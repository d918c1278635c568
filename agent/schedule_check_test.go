package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// checkPairs checks that each call of a request has exactly one result, right after it and in
// order.
func checkPairs(w *world, messages []llm.Message) {
	for i, m := range messages {
		calls := m.Parts.ToolCalls()
		if len(calls) == 0 {
			continue
		}
		if i+1 >= len(messages) || len(messages[i+1].Parts) != len(calls) {
			w.problem("calls of message %d have no results right after them", i)
			continue
		}
		for k, part := range messages[i+1].Parts {
			if r, ok := part.(llm.ToolResult); !ok || r.CallID != calls[k].ID {
				w.problem("result %d of message %d is %+v, want that of %s", k, i+1, part, calls[k].ID)
			}
		}
	}
}

// checkError checks that an error of a host's call is one of the allowed ones.
func (w *world) checkError(what string, err error) {
	var e *llm.Error
	for _, known := range []error{nil, context.Canceled, agent.ErrAborted, agent.ErrClosed, agent.ErrBusy,
		agent.ErrReleased, agent.ErrTakenOver, errSevered,
		errRefused} {
		if errors.Is(err, known) {
			return
		}
	}
	if !errors.As(err, &e) && !strings.Contains(err.Error(), "broken") {
		w.problem("%s: %v", what, err)
	}
}

// end closes the session and checks its end.
func (p *incarnation) end() {
	w := p.w
	err := p.Close()
	time.Sleep(time.Nanosecond) // until all other goroutines wait
	events := p.heard()
	time.Sleep(10 * time.Second) // for abandoned tools
	w.remember(p, events)
	if late := p.heard(); len(late) > len(events) {
		w.problem("%s follows when the session is closed", late[len(events)].Head().Kind)
	}
	if p.crashed {
		return
	}
	p.ledger.checkSettled(w)
	_, told := events[len(events)-1].(*agent.SessionEnd)
	late := p.Steer(context.Background(), "too late")
	switch away := errors.Is(late, agent.ErrReleased) || errors.Is(errors.Join(late, err), agent.ErrTakenOver); {
	case !errors.Is(late, agent.ErrClosed):
		w.problem("Steer after the end: %v", late)
	case !away && !told && !p.given: // a session that reported its end can still be released or taken over
		w.problem("the session ended with %s, and says %v", events[len(events)-1].Head().Kind, errors.Join(late, err))
	case err != nil && !(away && errors.Is(err, agent.ErrTakenOver)):
		w.problem("close: %v", err)
	}
	w.checkEvents(events, told && !w.unfinished()) // an input that no process works on stays open
}

// checkEvents checks the events of a process that has not crashed. Settled means that its session
// and all its activities ended.
func (w *world) checkEvents(events []agent.Event, settled bool) {
	open := map[string]int{}
	for i, ev := range events {
		if i > 0 && ev.Head().Seq <= events[i-1].Head().Seq {
			w.problem("event %d has number %d after %d", i, ev.Head().Seq, events[i-1].Head().Seq)
		}
		switch e := ev.(type) {
		case *agent.ToolCallStart:
			open["call "+e.CallID]++
		case *agent.ToolCallEnd:
			open["call "+e.CallID]--
		case *agent.InputRequested: // its end event comes with the answer
			open["call "+e.CallID]--
		case *agent.AssistantTextStart:
			open[fmt.Sprint("text ", e.Block)]++
		case *agent.AssistantTextEnd:
			open[fmt.Sprint("text ", e.Block)]--
		case *agent.StepStart:
			open["step"]++
		case *agent.StepEnd:
			open["step"]--
		case *agent.SessionEnd:
			if i != len(events)-1 {
				w.problem("%s follows SESSION_END", events[i+1].Head().Kind)
			}
			if e.State != agent.StatusClosed {
				w.problem("SESSION_END in state %s", e.State)
			}
		}
	}
	for what, n := range open {
		if n > 0 && settled {
			w.problem("%s has no end", what)
		}
	}
}

// remember records the kinds of events by their numbers, for processes that wrote something. After
// a process that wrote nothing, the next one reuses its numbers.
func (w *world) remember(p *incarnation, events []agent.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.log.wrote {
		return
	}
	for _, ev := range events {
		h := ev.Head()
		if was := w.live[h.Seq]; was != "" {
			w.problems = append(w.problems, fmt.Errorf("%s has the number %d of an earlier %s", h.Kind, h.Seq, was))
		}
		w.live[h.Seq] = h.Kind
		switch ev.(type) {
		case *agent.ToolCallEnd, *agent.ProcessingEnd, *agent.SessionEnd, *agent.Error:
			if !p.crashed {
				w.claims[h.Seq] = h.Kind
			}
		}
	}
	w.lost = w.lost || p.crashed || p.fenced || p.hasty
}

// unfinished reports whether an input is open.
func (w *world) unfinished() bool {
	state, err := agent.Load(context.Background(), w.log)
	return err == nil && state.Input != nil
}

// journal returns the beginning of each record.
func (w *world) journal() string {
	var b strings.Builder
	for r, err := range w.log.Records(context.Background(), 1) {
		fmt.Fprintf(&b, "%d %s %s %.160s %v\n", r.N, r.Time.Format("05.000"), r.Kind, r.Data, err)
	}
	return b.String()
}

// checkJournal folds, projects and replays the journal.
func (w *world) checkJournal() {
	if w.log.Len() == 0 {
		return
	}
	ctx := context.Background()
	state, err := agent.Load(ctx, w.log)
	if err != nil {
		w.problem("load: %v", err)
		return
	}
	awaits := state.Last != nil && state.Last.Reason == agent.ReasonAwaitingInput
	if len(state.Open()) > 0 && !awaits {
		w.problem("calls have no results: %+v", state.Open())
	}
	var messages []llm.Message
	for i, turn := range state.Turns {
		if i == len(state.Turns)-1 && len(state.Calls) > 0 {
			break // the calls of the last answer have no results yet
		}
		messages = append(messages, turn.Message)
	}
	checkPairs(w, messages)
	w.checkRecords(state)
	w.checkNotes(state)
	w.checkUsage(state)
	w.checkFallbacks()
	var records []journal.Record
	for r, err := range w.log.Records(ctx, 1) {
		if err != nil {
			w.problem("records: %v", err)
			break
		}
		records = append(records, r)
	}
	for _, problem := range openingProblems(records) {
		w.problem("%s", problem)
	}
	if err := agent.Project(ctx, w.log, w.checkNumber); err != nil {
		w.problem("project: %v", err)
	}
	for _, problem := range lateProblems(records, known) {
		w.problem("%s", problem)
	}
	for seq, kind := range w.claims {
		w.problem("%s %d is in no record", kind, seq)
	}
	if err := agent.Replay(ctx, w.log, agent.ReplayOptions{}); err != nil {
		w.problem("replay: %v", err)
	}
	if len(w.problems) > 0 {
		w.problem("%s", w.journal())
	}
}

// checkNumber checks that an event of the projection has its live number. An event that a crash
// prevented from being emitted or written has an unused number.
func (w *world) checkNumber(ev agent.Event) {
	h := ev.Head()
	if was := w.live[h.Seq]; was != h.Kind && (was != "" || !w.lost) {
		w.problem("the projection has %s with the number %d, which was that of %q", h.Kind, h.Seq, was)
	}
	if w.claims[h.Seq] == h.Kind {
		delete(w.claims, h.Seq)
	}
}

// checkRecords checks that each call has one result, and that each message of the host is there
// once, as BeforeInput returned it, and always if the session accepted it.
func (w *world) checkRecords(state *agent.State) {
	results, heard := map[string]int{}, map[*hostMessage]int{}
	var calls []llm.ToolCall
	for line := range w.log.Records(context.Background(), 1) {
		var r struct {
			Message            llm.Message `json:"message"`
			CallID             string      `json:"call_id"`
			Content            llm.Parts   `json:"content"`
			Text, Context, Key string
			Queued             int
		}
		if err := json.Unmarshal(line.Data, &r); err != nil {
			w.problem("record %d: %v", line.N, err)
		}
		switch line.Kind {
		case "answer":
			calls = append(calls, r.Message.Parts.ToolCalls()...)
		case "result":
			results[r.CallID]++
			for _, err := range []error{agent.ErrReleased, agent.ErrTakenOver, tool.ErrNotBegun} {
				if strings.Contains(r.Content.Text(), err.Error()) {
					w.problem("the model is told of call %s: %s", r.CallID, r.Content.Text())
				}
			}
		case "input", "queued":
			m := w.messageOf(r.Text)
			if m == nil || r.Queued != 0 {
				break
			}
			heard[m]++
			if m.let != "" && (m.let != r.Text || m.context != r.Context) || m.let == "" &&
				len(w.s.Host.BeforeInput) > 0 {
				w.problem("record %d has %q and %q, BeforeInput let through %q and %q", line.N, r.Text, r.Context,
					m.let, m.context)
			}
			if m.by != "submit" && r.Key != m.key {
				w.problem("record %d has the key %q, not %q", line.N, r.Key, m.key)
			}
		}
	}
	for _, c := range calls {
		open := 0
		for _, o := range state.Open() {
			if o.ID == c.ID {
				open++
			}
		}
		if results[c.ID]+open != 1 {
			w.problem("call %s has %d results", c.ID, results[c.ID])
		}
	}
	for _, m := range w.said {
		if heard[m] > 1 || m.taken && heard[m] == 0 {
			w.problem("%s %q is there %d times", m.by, m.text, heard[m])
		}
	}
}

// checkNotes checks that the newest note is there, and that the model got no note's text twice.
func (w *world) checkNotes(state *agent.State) {
	var kept, newest int
	if note, ok := state.Notes["test"]; ok {
		if err := json.Unmarshal(note.Data, &kept); err != nil {
			w.problem("note: %v", err)
		}
	}
	for i, m := range w.noted {
		if m.taken {
			newest = i + 1
		}
		times := 0
		for _, turn := range state.Turns {
			if m.text != "" && turn.Kind != agent.TurnCompaction {
				times += strings.Count(turn.Message.Parts.Text(), m.text)
			}
		}
		if times > 1 {
			w.problem("the model has %q %d times", m.text, times)
		}
	}
	if kept < newest {
		w.problem("the note is %d, want %d", kept, newest)
	}
}
