package agent

import (
	"encoding/json"
	"iter"
	"slices"

	"github.com/attractor-go/attractor/journal"
)

// FoldedState returns the state that the session folded, with the messages that it drops at rest,
// for comparison with the journal.
func (s *Session) FoldedState() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.gather()
	state := s.state
	state.Children = slices.Clone(state.Children) // agents that still run change theirs
	return state
}

// Comparable returns a record without the parts that differ from run to run.
func Comparable(line journal.Record) string {
	var members map[string]any
	if err := json.Unmarshal(line.Data, &members); err != nil {
		return string(line.Data)
	}
	for _, name := range []string{"seq", "resumed", "latency", "duration", "delay", "retry_at", "bytes", "output_ref",
		"cost_usd", "cold", "args", "version", "shown", "start", "kept", "truncated"} {
		delete(members, name)
	}
	members["k"] = line.Kind
	text, err := marshal(members)
	if err != nil {
		return string(line.Data)
	}
	return string(text)
}

// FoldOpening reads the beginning of a session by folding its records.
func FoldOpening(records iter.Seq2[journal.Record, error]) (o Opening, err error) {
	state, first := new(State), true
	defer func() { o.Notes = state.Notes }()
	for line, err := range records {
		if err == nil {
			err = state.Fold(line)
		}
		if err != nil {
			return o, err
		}
		if first {
			o.set(&state.Header, line.Time)
		}
		if first = false; state.Input != nil {
			o.Task = state.Input.Text
			break
		}
	}
	return o, nil
}
