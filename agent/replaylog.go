package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/attractor-go/attractor/journal"
)

// errJournalEnds ends a replay in the middle of a step, like the crash that ended the journal.
var errJournalEnds = errors.New("agent: the journal ends here")

// replayLog checks what the session writes.
type replayLog replay

func (l *replayLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	r := (*replay)(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.changed.Broadcast()
	for _, got := range records {
		if r.at >= len(r.lines) {
			return errJournalEnds
		}
		if r.wrong == nil && string(comparable(got)) != string(comparable(r.lines[r.at])) {
			r.divergeAt(&got)
		}
		if r.wrong != nil {
			return r.wrong
		}
		if call := callOf(r.records[r.at]); call != "" {
			r.running[call]--
		}
		r.at++
	}
	return r.memory.Append(ctx, next, records...)
}

func (l *replayLog) Sync(context.Context) error { return nil }
func (l *replayLog) Len() int64                 { return l.memory.Len() }
func (l *replayLog) Close() error               { return nil }

func (l *replayLog) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return l.memory.Records(ctx, from)
}

func (l *replayLog) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	return l.memory.PutBlob(ctx, data)
}

func (l *replayLog) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return l.memory.Blob(ctx, hash)
}

// notCompared are the members of a record that differ from run to run, or that only the first run could know.
var notCompared = []string{"seq", "resumed", "latency", "duration", "delay", "retry_at", "bytes", "output_ref", "cost_usd", "args", "version", "shown", "start", "kept", "truncated"}

// comparable returns a record without what may differ, in one form.
func comparable(line journal.Record) json.RawMessage {
	var members map[string]any
	if err := json.Unmarshal(line.Data, &members); err != nil {
		return line.Data
	}
	for _, name := range notCompared {
		delete(members, name)
	}
	if line.Kind == (compactRecord{}).kind() { // a request for one that comes while it runs is answered, too
		delete(members, "queued")
		delete(members, "tokens_before")
	}
	members["k"] = line.Kind
	text, err := marshal(members)
	if err != nil {
		return line.Data
	}
	return text
}
