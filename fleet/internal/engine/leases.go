package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

const (
	leasePrefix = "lease."
	drainPrefix = "drain."
)

// leases implements [fleet.Leases]. A lease is a record that the table removes when it has not
// been renewed for its ttl: no clock of another machine decides. The table counts from when it
// gets a renewal, the holder from when it sent it, so the holder's lease ends first.
type leases struct{ records table }

// leaseRecord is what the record of a lease holds.
type leaseRecord struct {
	fleet.WorkerInfo
	Holder string `json:"holder"` // tells two workers of one name apart
}

// NewLeases returns leases. Their keys are lease.NAME and drain.NAME.
func NewLeases(t Table) fleet.Leases { return &leases{table{t}} }

// Acquire implements [fleet.Leases].
func (s *leases) Acquire(ctx context.Context, w fleet.WorkerInfo, ttl time.Duration) (fleet.Lease, error) {
	if w.Name == "" || len(w.Name) > 100 || ttl <= 0 {
		return nil, fmt.Errorf("fleet: a lease needs a worker's name of 1 to 100 bytes and a ttl above 0: %w",
			fs.ErrInvalid)
	}
	l := &Lease{s: s, name: w.Name, ttl: ttl, holder: rand.Text()}
	sent := time.Now()
	if err := l.write(ctx, w); err != nil {
		return nil, err
	}
	l.until = sent.Add(ttl)
	return l, nil
}

// List implements [fleet.Leases].
func (s *leases) List(ctx context.Context) ([]fleet.WorkerInfo, error) {
	all, drained := map[string]leaseRecord{}, map[string]string{}
	for r, err := range s.records.List(ctx, leasePrefix+"*", drainPrefix+"*") {
		if err != nil {
			return nil, err
		}
		if name, ok := bytes.CutPrefix([]byte(r.Key), []byte(drainPrefix)); ok {
			drained[string(name)] = string(r.Data)
			continue
		}
		var l leaseRecord
		if err := json.Unmarshal(r.Data, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Key, err)
		}
		all[anyToken(l.Name)] = l
	}
	var list []fleet.WorkerInfo
	for name, l := range all {
		l.Draining = l.Draining || drained[name] == l.Holder
		list = append(list, l.WorkerInfo)
	}
	slices.SortFunc(list, func(a, b fleet.WorkerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Drain implements [fleet.Leases]. It names the holder, so that a later worker of the same name is
// not meant.
func (s *leases) Drain(ctx context.Context, worker string) error {
	r, err := s.records.Get(ctx, leasePrefix+anyToken(worker))
	if err != nil {
		return err
	}
	if r.Seq == 0 {
		return fmt.Errorf("fleet: there is no worker %.200q: %w", worker, fs.ErrNotExist)
	}
	var l leaseRecord
	if err := json.Unmarshal(r.Data, &l); err != nil {
		return fmt.Errorf("%s: %w", r.Key, err)
	}
	for {
		d, err := s.records.Get(ctx, drainPrefix+anyToken(worker))
		if err != nil || string(d.Data) == l.Holder {
			return err
		}
		if _, err = s.records.put(ctx, d.Key, []byte(l.Holder), d.Seq, drainLife); !errors.Is(err, ErrChanged) {
			return err
		}
	}
}

// drainLife is how long a wish to drain is kept. Its worker has ended long before.
const drainLife = 24 * time.Hour

// Lease implements [fleet.Lease].
type Lease struct {
	s            *leases
	name, holder string
	ttl          time.Duration

	writing sync.Mutex // held during a request; it guards seq
	seq     uint64

	mu       sync.Mutex
	until    time.Time
	lost     bool
	draining bool
}

// write writes the lease after what this lease has written last.
func (l *Lease) write(ctx context.Context, w fleet.WorkerInfo) error {
	w.Name = l.name
	data, err := json.Marshal(leaseRecord{w, l.holder})
	if err != nil {
		return err
	}
	seq, err := l.s.records.put(ctx, l.key(), data, l.seq, l.ttl)
	if errors.Is(err, ErrChanged) {
		err = l.taken(ctx)
	} else if err == nil {
		l.seq = seq
	}
	return err
}

// taken returns ErrLost, unless the record is this lease's own: then an earlier write succeeded
// that nobody has acknowledged, and the next one comes after it.
func (l *Lease) taken(ctx context.Context) error {
	now, err := l.s.records.Get(ctx, l.key())
	if err != nil {
		return err
	}
	var r leaseRecord
	if now.Seq > 0 && json.Unmarshal(now.Data, &r) == nil && r.Holder == l.holder {
		l.seq = now.Seq
		return fmt.Errorf("worker %s: an earlier renewal came late; renew again", l.name)
	}
	return l.isLost()
}

func (l *Lease) isLost() error { return fmt.Errorf("worker %s: %w", l.name, fleet.ErrLost) }

func (l *Lease) key() string { return leasePrefix + anyToken(l.name) }

// Renew implements [fleet.Lease].
func (l *Lease) Renew(ctx context.Context, w fleet.WorkerInfo) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	sent := time.Now()
	if !l.holds(sent) {
		return l.isLost()
	}
	if err := l.write(ctx, w); err != nil {
		if errors.Is(err, fleet.ErrLost) {
			l.end()
		}
		return err
	}
	l.mu.Lock()
	l.until = sent.Add(l.ttl)
	l.mu.Unlock()
	// The lease is renewed whether or not this is learned now.
	if d, err := l.s.records.Get(ctx, drainPrefix+anyToken(l.name)); err == nil && string(d.Data) == l.holder {
		l.mu.Lock()
		l.draining = true
		l.mu.Unlock()
	}
	return nil
}

// holds reports whether the lease has not ended by this machine's clock. Once it has, it stays so.
func (l *Lease) holds(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = l.lost || !now.Before(l.until)
	return !l.lost
}

// end ends the lease here.
func (l *Lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.until = true, time.Time{}
}

// Until implements [fleet.Lease].
func (l *Lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Draining implements [fleet.Lease].
func (l *Lease) Draining() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draining
}

// Release implements [fleet.Lease]. It ends the lease here in any case.
func (l *Lease) Release(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.end()
	now, err := l.s.records.Get(ctx, l.key())
	if err != nil || now.Seq == 0 {
		return err
	}
	var r leaseRecord
	if err := json.Unmarshal(now.Data, &r); err != nil || r.Holder != l.holder {
		return err
	}
	return l.s.records.RemoveSeq(ctx, now.Seq)
}
