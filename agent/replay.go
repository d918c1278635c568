package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/journal"
)

// ReplayOptions configure a replay.
type ReplayOptions struct {
	// OnEvent receives the events of the replay, as a [Projection] has them.
	OnEvent func(Event)
}

// Divergence is the error of a replay that came to another record than the journal has.
type Divergence struct {
	Record int64           `json:"record"`
	Want   json.RawMessage `json:"want"` // the journal's record
	// Got is the record that the loop would write, or null in a session at rest. Of a step whose
	// outcome only the journal has, such as a model call, it names the act.
	Got json.RawMessage `json:"got"`
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

// Replay runs the loop again over a journal. Before each record of the loop [Next] decides anew
// what comes; the answers of the model, the results of tools and the actions of the host come from
// the journal, as do times and ids. Replay runs no tool and sends nothing over a network. It
// returns a *[Divergence] for the first record that is not the outcome of what was decided, or that
// does not fit those before it.
func Replay(ctx context.Context, from Records, o ReplayOptions) error {
	var r replay
	for line, err := range lines(ctx, from) {
		if err != nil {
			return err
		}
		events, err := r.add(line)
		if err != nil {
			return err
		}
		for _, ev := range events {
			if o.OnEvent != nil {
				o.OnEvent(ev)
			}
		}
	}
	if r.state.Records == 0 && ctx.Err() == nil {
		return errors.New("agent: the journal is empty; there is nothing to replay")
	}
	return context.Cause(ctx)
}

// A replay compares the records of a journal with what the loop decides.
type replay struct {
	Projection
	// begun holds the steps that the loop may have begun since its last record: the host can act
	// while one is under way
	begun []Step
	rest  []record // which the loop writes together with its last record
}

// add compares the next record and returns its events.
func (r *replay) add(line journal.Record) ([]Event, error) {
	rec, at, err := decodeRecord(line)
	if err != nil {
		return nil, err
	}
	divergence := &Divergence{Record: line.N, Want: withKind(line.Kind, line.Data), Got: json.RawMessage("null")}
	if err := r.state.accepts(rec); err != nil {
		divergence.Problem = err.Error()
		return nil, divergence
	}
	step := Next(&r.state, r.state.at)
	if step.Act == ActWait { // the loop has waited for the next attempt
		step = Next(&r.state, step.Until)
	}
	if r.state.byHost(rec) {
		r.begun, r.rest = append(r.begun, step), nil
	} else if got, same := r.compare(rec, step); !same {
		divergence.Got = got
		return nil, divergence
	}
	return r.record(line, rec, at), nil
}

// compare reports whether a record is the loop's next one, where step is due. If it is not, got is
// what the loop would do.
func (r *replay) compare(rec record, step Step) (got json.RawMessage, same bool) {
	begun, rest := append(r.begun, step), r.rest
	r.begun, r.rest = nil, nil
	if len(rest) == 0 {
		rest = r.state.stepRecords(step)
	}
	for _, s := range begun {
		if s.leadsTo(rec) {
			return nil, true
		}
	}
	if len(rest) == 0 {
		return withKind("", fmt.Appendf(nil, `{"act":%q}`, step.Act)), false
	}
	r.rest = rest[1:]
	is, wrong := marshal(rec)
	would, err := marshal(rest[0])
	return withKind(rest[0].kind(), would), wrong == nil && err == nil && rec.kind() == rest[0].kind() &&
		bytes.Equal(is, would)
}

// byHost reports whether a record comes from the host or a subagent, which may act at any time.
func (s *State) byHost(rec record) bool {
	switch r := rec.(type) {
	case headerRecord, historyRecord, queuedRecord, settingRecord, childRecord, noteRecord, spentRecord, renewalRecord,
		stopRecord:
		return true
	case inputRecord:
		return r.Queued == 0
	case resultRecord: // the answer to a question
		call := s.open(r.CallID)
		return call != nil && call.awaits != nil && s.Input.Ending == ""
	case endRecord: // older versions wrote the end of the time budget at once
		return r.Session || r.Reason == ReasonBudgetTime
	}
	return false
}

// leadsTo reports whether a record is the outcome of a step that runs tools or hooks or calls a
// model.
func (step Step) leadsTo(rec record) bool {
	switch r := rec.(type) {
	case answerRecord, faultRecord:
		return step.Act == ActCallModel
	case intentRecord, resultRecord, awaitRecord:
		return step.Act == ActRunCalls
	case compactRecord:
		return step.Act == ActCompact && r.First == step.First
	case turnRecord:
		return step.Act == ActConfirm && r.Origin == OriginStop
	case endRecord:
		return (step.Act == ActSummarize || step.Act == ActConfirm) && r.Reason == step.Reason && r.Value == step.Value
	}
	return false
}

// withKind returns the body of a record with its kind.
func withKind(kind string, body []byte) json.RawMessage {
	if kind == "" || len(body) <= len("{}") {
		return body
	}
	return fmt.Appendf(nil, `{"k":%q,%s`, kind, body[1:])
}
