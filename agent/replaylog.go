package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"

	"github.com/attractor-go/attractor/journal"
)

// errJournalEnds ends a replay in the middle of a step, as a crash ended the journal.
var errJournalEnds = errors.New("agent: the journal ends here")

// A replayLog compares the records that the session writes with the journal's.
type replayLog replay

func (l *replayLog) Append(_ context.Context, _ int64, records ...journal.Record) error {
	r := (*replay)(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.wake()
	for _, got := range records {
		if r.at >= len(r.lines) {
			return errJournalEnds
		}
		if r.wrong == nil && !equal(got, r.lines[r.at]) {
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
	return nil
}

func (l *replayLog) Sync(context.Context) error { return nil }
func (l *replayLog) Close() error               { return nil }

func (l *replayLog) Len() int64 {
	r := (*replay)(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.at)
}

func (l *replayLog) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return journal.NewMemory(l.lines[:l.Len()]...).Records(ctx, from)
}

func (l *replayLog) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	return l.blobs.PutBlob(ctx, data)
}

func (l *replayLog) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return l.blobs.Blob(ctx, hash)
}

// notCompared lists the members of a record that differ from run to run, or that only the first run
// knows.
var notCompared = []string{"seq", "resumed", "latency", "duration", "delay", "retry_at", "bytes", "output_ref",
	"cost_usd", "cold", "args", "version", "shown", "start", "kept", "truncated"}

// equal reports whether two records are equal but for the members that may differ.
func equal(a, b journal.Record) bool {
	return a.Kind == b.Kind && string(comparable(a)) == string(comparable(b))
}

// comparable returns the canonical JSON of a record without the members that may differ.
func comparable(line journal.Record) json.RawMessage {
	var members map[string]any
	if err := json.Unmarshal(line.Data, &members); err != nil {
		return line.Data
	}
	for _, name := range notCompared {
		delete(members, name)
	}
	if line.Kind == (compactRecord{}).kind() { // a request that comes during a compaction is answered by it
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
