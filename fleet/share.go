package fleet

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// shares says whose tasks a worker takes next. Tenants that have tasks waiting get turns by their
// weights, as stride scheduling has it: each turn moves a tenant's pass on by 1/weight, and the
// tenant with the lowest pass is next. Tenants that had no task when they were last asked are asked
// again between the others' turns, one at a time, so that they hold up nobody.
type shares struct {
	mu     sync.Mutex
	list   []*share
	pass   float64 // of the turn that was given last
	asking bool    // the last turn was that of a tenant without tasks
	change chan struct{}
	long   time.Duration // for how long a tenant is asked for a task where there is no other one
}

// share is one tenant's part of a worker.
type share struct {
	tenant Tenant
	space  *Space
	pass   float64
	has    bool      // it had a task when it was last asked
	asked  bool      // somebody is asking whether it has a task again
	at     time.Time // when that was last asked
}

func newShares(long time.Duration) *shares { return &shares{change: make(chan struct{}), long: long} }

// set replaces the tenants. Those that were there before keep their passes.
func (s *shares) set(spaces map[string]*Space, tenants []Tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.list
	s.list = nil
	for _, t := range tenants {
		known := slices.IndexFunc(old, func(o *share) bool { return o.tenant.Name == t.Name })
		sh := &share{space: spaces[t.Name]}
		if known >= 0 {
			sh = old[known]
		}
		sh.tenant = t
		s.list = append(s.list, sh)
	}
	s.changed()
}

// changed wakes those who wait for a turn. It is called with the lock.
func (s *shares) changed() {
	close(s.change)
	s.change = make(chan struct{})
}

// next returns the tenant whose turn it is, and for how long to wait for a task of it. If there is
// none, it returns a channel that is closed when there may be one. The caller calls done with each
// tenant.
func (s *shares) next() (sh *share, wait time.Duration, change <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var having, idle []*share
	for _, sh := range s.list {
		switch {
		case sh.has:
			having = append(having, sh)
		case !sh.asked:
			idle = append(idle, sh)
		}
	}
	byPass := func(a, b *share) int { return cmp.Compare(a.pass, b.pass) }
	switch {
	case len(having) > 0 && (s.asking || len(idle) == 0):
		sh = slices.MinFunc(having, byPass)
		s.pass, s.asking = sh.pass, false
		sh.pass += 1 / float64(max(sh.tenant.Weight, 1))
		return sh, min(mostAsking, s.long), nil
	case len(idle) > 0:
		sh = slices.MinFunc(idle, func(a, b *share) int { return a.at.Compare(b.at) })
		sh.asked, s.asking = true, true
		if len(having) > 0 || len(s.list) > 1 {
			return sh, min(mostAsking, s.long), nil
		}
		return sh, s.long, nil
	}
	return nil, 0, s.change
}

// mostAsking is for how long a tenant is asked for a task while others may have some.
const mostAsking = 100 * time.Millisecond

// done ends the turn of a tenant. Had says whether the tenant had a task.
func (s *shares) done(sh *share, had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if had && !sh.has { // no turns are saved up while there are no tasks
		sh.pass = max(sh.pass, s.pass)
	}
	sh.has, sh.asked, sh.at = had, false, time.Now()
	s.changed()
}

// tenant returns whose share it is, as it was last set.
func (s *shares) tenant(sh *share) Tenant {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sh.tenant
}
