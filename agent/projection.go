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
		policy Policy
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
		switch r := rec.(type) {
		case headerRecord:
			stream, policy = newEventStream(r.ID, func() time.Time { return now }, yield), r.Policy
			stream.emit(started(&r.Header, false))
		case settingRecord:
			policy = r.policy(policy)
		}
		if stream.ended { // the session was resumed
			stream.ended = false
			h := state.Header
			if set, ok := rec.(settingRecord); ok && set.Machine != nil {
				h.Machine = *set.Machine
			}
			stream.emit(started(&h, true))
		}
		events := append(preceding(rec, &state), project(rec, &state, &policy)...)
		state.fold(rec, now)
		stream.emit(append(events, state.overflow()...)...)
	}
	return ctx.Err()
}

func started(h *Header, resumed bool) *SessionStart {
	return &SessionStart{Model: h.Model, Provider: h.Provider, Profile: h.Profile, Dir: h.Dir, Containment: first(h.Containment, "unknown"),
		HidesHost: h.HidesHost, Resumed: resumed, ParentID: h.Parent}
}

// preceding returns the events that come live before a record is written.
func preceding(rec record, before *State) []Event {
	step := &StepStart{Step: before.Steps + 1, Epoch: before.Epoch}
	switch r := rec.(type) {
	case answerRecord:
		events := []Event{step}
		for _, part := range r.Message.Parts {
			if t, ok := part.(llm.Thinking); ok && t.Text != "" {
				events = append(events, &ThinkingDelta{Text: t.Text})
			}
		}
		return events
	case faultRecord:
		return []Event{step}
	case resultRecord:
		args, index := r.Args, before.indexOf(r.CallID)
		if args == "" && index >= 0 {
			args = before.Calls[index].Args
		}
		return []Event{&ToolCallStart{CallID: r.CallID, Index: index, Name: r.Name, Arguments: arguments(args)}}
	}
	return nil
}
