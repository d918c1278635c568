package agent

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ErrUnknownKind means that an event is of a kind that this version does not know.
var ErrUnknownKind = errors.New("agent: unknown kind of event")

// UnmarshalEvent returns the event of JSON data, such as a line of `attractor run --json`, as a
// pointer to the struct of its kind. The error for a kind of a newer version wraps
// [ErrUnknownKind]. Unknown fields are ignored.
func UnmarshalEvent(data []byte) (Event, error) {
	var head EventHeader
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("agent: cannot read an event: %w", err)
	}
	ev := newEvent(head.Kind)
	if ev == nil {
		return nil, fmt.Errorf("%w %q", ErrUnknownKind, head.Kind)
	}
	if err := json.Unmarshal(data, ev); err != nil {
		return nil, fmt.Errorf("agent: cannot read a %s event: %w", head.Kind, err)
	}
	return ev, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (e *SubagentEvent) UnmarshalJSON(data []byte) (err error) {
	type fields SubagentEvent
	outer := struct {
		*fields
		Event json.RawMessage `json:"event"`
	}{fields: (*fields)(e)}
	if err := json.Unmarshal(data, &outer); err != nil {
		return err
	}
	e.Event, err = UnmarshalEvent(outer.Event)
	return err
}
