package agent

import (
	"context"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// renewalRecord holds a request that was made only to renew what the provider's prompt cache has,
// see [Policy].
type renewalRecord struct {
	Usage  llm.Usage `json:"usage,omitzero"`
	Cost   float64   `json:"cost_usd,omitempty"`
	Failed string    `json:"failed,omitempty"` // why it may not have renewed anything
}

func (renewalRecord) kind() string { return "renewal" }

// foldRenewal counts a renewal.
func (s *State) foldRenewal(r renewalRecord, at time.Time) {
	s.spend(r.Usage, r.Cost)
	if r.Failed == "" {
		s.answered.at, s.answered.used = at, at
	}
}

// A renewal is the request that renews the cache during one wait for calls. The requests of a wait
// may cost less than cold, each of them about warm, in US dollars.
type renewal struct {
	req        *llm.Request
	tokens     int // of the request
	warm, cold float64
}

// keepCache begins to renew the provider's prompt cache until leaveCache, if the policy says so. It
// is called before calls run, and again for those that ask the host.
func (s *Session) keepCache() {
	r, ok := s.renewal()
	if !ok {
		return
	}
	ctx, cancel := context.WithCancel(s.life)
	done := make(chan struct{})
	s.mu.Lock()
	s.keeper = func() {
		cancel()
		<-done
	}
	s.mu.Unlock()
	go func() {
		defer close(done)
		defer cancel()
		s.renewCache(ctx, r)
	}()
}

// leaveCache ends the renewals, and returns when none is under way. The next request may be sent
// then.
func (s *Session) leaveCache() {
	s.mu.Lock()
	end := s.keeper
	s.keeper = nil
	s.mu.Unlock()
	if end != nil {
		end()
	}
}

// renewal returns the last request again, with an answer of one token. Ok is false if there is
// nothing to renew, or if the prices are not known.
func (s *Session) renewal() (r renewal, ok bool) {
	s.mu.Lock()
	st, a := &s.state, s.state.answered
	last := len(st.messages) - 1
	if s.keeper != nil || !st.Policy.KeepCache || st.Epoch != a.epoch || last < 1 ||
		st.messages[last].Role != llm.RoleAssistant {
		s.mu.Unlock()
		return r, false
	}
	r.req, r.tokens = s.request(), st.Context.Tokens()
	s.mu.Unlock()
	r.req.Messages = r.req.Messages[:last:last]
	r.req.CacheLong = a.kept == longCache
	r.req.Caller.Purpose = PurposeRenewal
	s.addFacts(r.req)
	r.req.MaxTokens = 1
	had := a.usage.CacheRead + a.usage.CacheWrite
	written := llm.Usage{Input: had, CacheWrite: had}
	if r.req.CacheLong {
		written.CacheWriteLong = had
	}
	r.cold, _ = r.req.Facts.Cost(written)
	r.warm, ok = r.req.Facts.Cost(llm.Usage{Input: had, CacheRead: had, Output: 1})
	return r, ok && had > 0 && s.renewable(r.req)
}

// renewable reports whether a request renews the lifetime of what the provider's cache has.
func (s *Session) renewable(req *llm.Request) bool {
	return able(s, req.Provider, "RenewsCache", func(r llm.CacheRenewer) bool { return r.RenewsCache(req) })
}

// renewCache renews the cache each time before it forgets, until ctx or the wait ends, a request
// fails, or another one would cost more than it can save.
func (s *Session) renewCache(ctx context.Context, r renewal) {
	for spent := 0.0; spent+r.warm < r.cold && s.awaitRenewal(ctx); {
		sent := *r.req // an abandoned attempt may still read it
		var a attemptStream
		_, used, cost, err := s.withinBudget(ctx, &sent, r.tokens, &a,
			func() (*llm.Response, error) { return s.attempt(ctx, &sent, &a) })
		spent += cost
		rec := renewalRecord{Usage: used, Cost: cost}
		if err != nil {
			rec.Failed = validText(err.Error())
		}
		if rec.Failed != "" && used == (llm.Usage{}) || s.commit(rec) != nil || rec.Failed != "" {
			return
		}
	}
}

// awaitRenewal waits until the cache has to be renewed. It returns false if that is not to be, as
// the calls have their results, the next request begins otherwise, or the cache has forgotten.
func (s *Session) awaitRenewal(ctx context.Context) bool {
	for ctx.Err() == nil && s.givenAway() == nil {
		now := s.now()
		s.mu.Lock()
		a, waits := s.state.answered, s.state.Policy.KeepCache && len(s.state.Calls) > 0
		waits = waits && s.state.Epoch == a.epoch && now.Sub(a.used) < a.kept
		s.mu.Unlock()
		due := a.used.Add(a.kept * 9 / 10) // a tenth is left for the request
		if !waits || !now.Before(due) {
			return waits
		}
		s.sleep(ctx, due)
	}
	return false
}
