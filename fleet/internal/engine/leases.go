package engine

import (
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

const leasePrefix = "lease."

// leases implements [fleet.Leases]. A lease is a record that the table removes when it has not been
// renewed for its ttl: no clock of another machine decides. The table counts from when it gets a
// renewal, the holder from when it sent it, so the holder's lease ends first.
type leases struct{ records table }

// leaseRecord is the record of a lease.
type leaseRecord struct {
	fleet.WorkerInfo
	Holder  string         `json:"holder"`            // tells two workers of one name apart
	Drained bool           `json:"drained,omitempty"` // somebody has asked for the end
	TTL     fleet.Duration `json:"ttl"`
}

// NewLeases returns leases. Their keys are lease.NAME.
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
func (s *leases) List(ctx context.Context) (list []fleet.WorkerInfo, err error) {
	for r, err := range s.records.List(ctx, leasePrefix+"*") {
		if err != nil {
			return nil, err
		}
		l, err := leaseOf(r)
		if err != nil {
			return nil, err
		}
		l.Draining = l.Draining || l.Drained
		// it was renewed meanwhile
		list = slices.DeleteFunc(list, func(w fleet.WorkerInfo) bool { return w.Name == l.Name })
		list = append(list, l.WorkerInfo)
	}
	slices.SortFunc(list, func(a, b fleet.WorkerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

func leaseOf(r Record) (l leaseRecord, err error) {
	if err := json.Unmarshal(r.Data, &l); err != nil {
		return l, fmt.Errorf("%s: %w", r.Key, err)
	}
	return l, nil
}

// Drain implements [fleet.Leases].
func (s *leases) Drain(ctx context.Context, worker string) error {
	return Update(ctx, s.records, leasePrefix+anyToken(worker), func(now Record) (any, time.Duration, error) {
		if now.Seq == 0 {
			return nil, 0, fmt.Errorf("fleet: there is no worker %.200q: %w", worker, fs.ErrNotExist)
		}
		l, err := leaseOf(now)
		l.Drained = true
		return l, time.Duration(l.TTL), err
	})
}

// Lease implements [fleet.Lease].
type Lease struct {
	s            *leases
	name, holder string
	ttl          time.Duration

	writing sync.Mutex // held during a request; it guards seq
	seq     uint64

	holding
	draining bool
}

// write writes the record of the lease. It returns ErrLost if somebody else has the lease.
func (l *Lease) write(ctx context.Context, w fleet.WorkerInfo) error {
	w.Name = l.name
	data := func() ([]byte, error) {
		return json.Marshal(leaseRecord{w, l.holder, l.Draining(), fleet.Duration(l.ttl)})
	}
	mine := func(now Record) (bool, error) { // and somebody may have asked for the end
		r, err := leaseOf(now)
		if now.Seq == 0 || err != nil || r.Holder != l.holder {
			return false, nil
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.draining = l.draining || r.Drained
		return true, nil
	}
	return lostIfChanged(l.s.records.rewrite(ctx, l.key(), &l.seq, l.ttl, data, mine), l.isLost)
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
	defer l.mu.Unlock()
	l.until = sent.Add(l.ttl)
	return nil
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
	if r, err := leaseOf(now); err != nil || r.Holder != l.holder {
		return err
	}
	return l.s.records.RemoveSeq(ctx, now.Seq)
}
