package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// A task has up to four records, each with one kind of writer. That of a client never changes; the
// others have the owner as their only writer.
const (
	taskPrefix = "task."
	specKind   = "spec"   // the task, by a client
	cancelKind = "cancel" // the request to cancel it, by a client
	statusKind = "status" // by an owner, from the first claim on
	claimKind  = "claim"  // the owner's last heartbeat
)

// taskKey is the key of a record of a task. The id may be "*".
func taskKey(id, kind string) string { return taskPrefix + Token(id) + "." + kind }

// taskOf returns the id and the kind of a key.
func taskOf(key string) (id, kind string) {
	t, kind, _ := strings.Cut(strings.TrimPrefix(key, taskPrefix), ".")
	return TokenID(t), kind
}

// viewKinds returns the kinds of the records that a status depends on.
func viewKinds() []string { return []string{specKind, statusKind, cancelKind} }

// statusRecord is a status as its owner writes it.
type statusRecord struct {
	Status fleet.Status `json:"status"`
	// Claimed is the sequence of the record that began the claim, or 0 in that record itself.
	Claimed uint64 `json:"claimed,omitempty"`
	// Hold is how long the claim holds without a heartbeat.
	Hold fleet.Duration `json:"hold,omitempty"`
}

// claimRecord is a heartbeat of an owner.
type claimRecord struct {
	Claimed uint64 `json:"claimed"`
}

// taskState holds the records of a task that its status depends on.
type taskState struct{ spec, status, cancel Record }

// set replaces the record of a kind.
func (s *taskState) set(r Record, kind string) {
	switch kind {
	case specKind:
		s.spec = r
	case statusKind:
		s.status = r
	case cancelKind:
		s.cancel = r
	}
}

// load reads the records of a task. It reads the task itself last, so that a task that is removed
// meanwhile is found missing.
func (t *Tasks) load(ctx context.Context, id string) (s taskState, err error) {
	if err := journal.CheckID(id); err != nil {
		return s, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	for _, kind := range []string{cancelKind, statusKind, specKind} {
		r, err := t.records.Get(ctx, taskKey(id, kind))
		if err != nil {
			return s, err
		}
		s.set(r, kind)
	}
	if s.spec.Seq == 0 {
		return s, fmt.Errorf("fleet: there is no task %.200q: %w", id, fs.ErrNotExist)
	}
	return s, nil
}

// task returns the task.
func (s *taskState) task() (t fleet.Task, err error) {
	return t, json.Unmarshal(s.spec.Data, &t)
}

// view returns the status, as everybody sees it, and the record that its owner has written.
//
// A request to cancel that was written before the task was claimed ends it, whoever claims it. Both
// are records of one table, so their sequences say which was first.
func (s *taskState) view() (fleet.Status, statusRecord, error) {
	var r statusRecord
	if s.status.Seq == 0 {
		task, err := s.task()
		if err != nil {
			return r.Status, r, err
		}
		r.Status = fleet.Status{ID: task.ID, Tenant: task.Tenant, State: fleet.Queued, Submitted: s.spec.At.UTC(),
			Labels: task.Labels}
	} else if err := json.Unmarshal(s.status.Data, &r); err != nil {
		return r.Status, r, err
	}
	if r.Claimed == 0 {
		r.Claimed = s.status.Seq
	}
	status := r.Status
	if s.cancel.Seq > 0 && !status.State.Final() && (status.State != fleet.Running || s.cancel.Seq < r.Claimed) {
		status.State, status.Reason, status.NotBefore = fleet.Canceled, "It was canceled while no worker had it.",
			time.Time{}
		status.Ended = s.cancel.At.UTC()
	}
	return status, r, nil
}
