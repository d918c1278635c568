package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Project yields the events that a journal stands for, without running anything: those of the session, with each text in one piece,
// without live output, and with the outputs as the model saw them. A call begins right before its end, since its real
// beginning is in no record. Numbers count from 1; times are the records'.
func Project(ctx context.Context, from Records, yield func(Event)) error {
	var (
		state  State
		now    time.Time
		stream *eventStream
	)
	for line, err := range from.Records(ctx, 1) {
		if err != nil {
			return fmt.Errorf("agent: cannot read the session: %w", err)
		}
		rec, err := decodeRecord(line)
		if err != nil {
			return err
		}
		if err := state.accepts(rec); err != nil {
			return fmt.Errorf("agent: record %d: %w", line.N, err)
		}
		now = line.Time
		if stream != nil && stream.ended { // the session was resumed
			stream.goOnWith(state.resumedBy(rec))
		}
		events := append(preceding(rec, &state), project(rec, &state)...)
		state.fold(rec, now)
		if h, ok := rec.(headerRecord); ok {
			stream = newEventStream(h.ID, func() time.Time { return now }, yield)
			stream.emit(state.started(state.Dir(), false))
		}
		stream.emit(append(events, state.overflow()...)...)
	}
	return ctx.Err()
}

// started returns the event that the session begins, or goes on, in a directory.
func (s *State) started(dir string, resumed bool) *SessionStart {
	return &SessionStart{Model: s.Model, Provider: s.Provider, Profile: s.Header.Profile, Dir: dir, Containment: first(s.Machine.Containment, "unknown"),
		HidesHost: s.Machine.HidesHost, Resumed: resumed, ParentID: s.Header.Parent}
}

// resumedBy returns the event that the session goes on with a record, which says so when that is on another machine.
func (s *State) resumedBy(rec record) *SessionStart {
	start := s.started(s.Dir(), true)
	if set, ok := rec.(settingRecord); ok && set.Machine != nil {
		start.Containment, start.HidesHost = first(set.Machine.Containment, "unknown"), set.Machine.HidesHost
	}
	return start
}

// preceding returns the events that come live before a record is written.
func preceding(rec record, before *State) []Event {
	switch r := rec.(type) {
	case answerRecord:
		events := []Event{&StepStart{Step: before.Steps + 1, Epoch: r.in(before)}}
		for _, part := range r.Message.Parts {
			if t, ok := part.(llm.Thinking); ok && t.Text != "" {
				events = append(events, &ThinkingDelta{Text: t.Text})
			}
		}
		return events
	case faultRecord:
		return []Event{&StepStart{Step: before.Steps + 1, Epoch: r.in(before)}}
	case resultRecord:
		args, access, index := r.Args, r.Access, before.indexOf(r.CallID)
		call := before.Calls[index] // what accepts the record knows that it is there
		if call.Question != nil {
			args, access = first(args, call.Question.Args), call.Question.Access
		}
		return []Event{toolCallStart(r.CallID, r.Name, index, call.Args, args, access)}
	}
	return nil
}
