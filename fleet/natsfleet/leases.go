package natsfleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"github.com/attractor-go/attractor/fleet"
)

const (
	leaseStream = "leases"
	leasePrefix = "lease."
	drainPrefix = "drain."
)

// leases implements [fleet.Leases]. A lease is a record that the server removes when it has not
// been renewed for its ttl: no clock of another machine decides. The server counts from when it
// gets a renewal, the holder from when it sent it, so the holder's lease ends first.
type leases struct{ *records }

// leaseRecord is what the record of a lease holds.
type leaseRecord struct {
	fleet.WorkerInfo
	Holder string `json:"holder"` // tells two workers of one name apart
}

func newLeases(ctx context.Context, operator *account) (fleet.Leases, error) {
	r, err := newRecords(ctx, operator, leaseStream, leasePrefix+"*", drainPrefix+"*")
	return &leases{r}, err
}

// Acquire implements [fleet.Leases].
func (s *leases) Acquire(ctx context.Context, w fleet.WorkerInfo, ttl time.Duration) (fleet.Lease, error) {
	if w.Name == "" || len(w.Name) > 100 || ttl <= 0 {
		return nil, fmt.Errorf("fleet: a lease needs a worker's name of 1 to 100 bytes and a ttl above 0: %w",
			fs.ErrInvalid)
	}
	l := &lease{s: s, name: w.Name, ttl: ttl, holder: nuid.Next()}
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
	for r, err := range s.list(ctx, leasePrefix+"*", drainPrefix+"*") {
		if err != nil {
			return nil, err
		}
		if name, ok := bytes.CutPrefix([]byte(r.subject), []byte(drainPrefix)); ok {
			drained[string(name)] = string(r.data)
			continue
		}
		var l leaseRecord
		if err := json.Unmarshal(r.data, &l); err != nil {
			return nil, fmt.Errorf("%s: %w", r.subject, err)
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
	r, err := s.get(ctx, leasePrefix+anyToken(worker))
	if err != nil {
		return err
	}
	if r.seq == 0 {
		return fmt.Errorf("fleet: there is no worker %.200q: %w", worker, fs.ErrNotExist)
	}
	var l leaseRecord
	if err := json.Unmarshal(r.data, &l); err != nil {
		return fmt.Errorf("%s: %w", r.subject, err)
	}
	for {
		d, err := s.get(ctx, drainPrefix+anyToken(worker))
		if err != nil || string(d.data) == l.Holder {
			return err
		}
		if _, err = s.put(ctx, d.subject, []byte(l.Holder), d.seq, drainLife); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// drainLife is how long a wish to drain is kept. Its worker has ended long before.
const drainLife = 24 * time.Hour

// lease implements [fleet.Lease].
type lease struct {
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
func (l *lease) write(ctx context.Context, w fleet.WorkerInfo) error {
	w.Name = l.name
	data, err := json.Marshal(leaseRecord{w, l.holder})
	if err != nil {
		return err
	}
	seq, err := l.s.put(ctx, l.subject(), data, l.seq, max(l.ttl, time.Second))
	if errors.Is(err, errChanged) {
		err = l.taken(ctx)
	} else if err == nil {
		l.seq = seq
	}
	return err
}

// taken returns ErrLost, unless the record is this lease's own: then an earlier write succeeded
// that nobody has acknowledged, and the next one comes after it.
func (l *lease) taken(ctx context.Context) error {
	now, err := l.s.get(ctx, l.subject())
	if err != nil {
		return err
	}
	var r leaseRecord
	if now.seq > 0 && json.Unmarshal(now.data, &r) == nil && r.Holder == l.holder {
		l.seq = now.seq
		return fmt.Errorf("worker %s: an earlier renewal came late; renew again", l.name)
	}
	return l.isLost()
}

func (l *lease) isLost() error { return fmt.Errorf("worker %s: %w", l.name, fleet.ErrLost) }

func (l *lease) subject() string { return leasePrefix + anyToken(l.name) }

// Renew implements [fleet.Lease].
func (l *lease) Renew(ctx context.Context, w fleet.WorkerInfo) error {
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
	if d, err := l.s.get(ctx, drainPrefix+anyToken(l.name)); err == nil && string(d.data) == l.holder {
		l.mu.Lock()
		l.draining = true
		l.mu.Unlock()
	}
	return nil
}

// holds reports whether the lease has not ended by this machine's clock. Once it has, it stays so.
func (l *lease) holds(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = l.lost || !now.Before(l.until)
	return !l.lost
}

// end ends the lease here.
func (l *lease) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost, l.until = true, time.Time{}
}

// Until implements [fleet.Lease].
func (l *lease) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// Draining implements [fleet.Lease].
func (l *lease) Draining() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.draining
}

// Release implements [fleet.Lease]. It ends the lease here in any case.
func (l *lease) Release(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.end()
	now, err := l.s.get(ctx, l.subject())
	if err != nil || now.seq == 0 {
		return err
	}
	var r leaseRecord
	if err := json.Unmarshal(now.data, &r); err != nil || r.Holder != l.holder {
		return err
	}
	return l.s.removeSeq(ctx, now.seq)
}
