package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// A CacheLifetime says for how long the provider's prompt cache is asked to keep what a request
// adds to it, where the provider offers a choice (Anthropic: five minutes, or an hour for more
// money).
type CacheLifetime string

// The values of CacheLifetime. The first two ask for the hour only while what is added is less than
// a third of what the cache has already: then the hour costs less than a fifth of writing all of
// that anew.
const (
	CacheByPauses  CacheLifetime = ""       // the hour, once the session has paused for more than five minutes
	CacheForPerson CacheLifetime = "person" // the hour: somebody is expected to think before the next input
	CacheShort     CacheLifetime = "5m"
	CacheLong      CacheLifetime = "1h"
)

// Cold tells that a request did not find in the provider's prompt cache what an earlier one had
// left there.
type Cold struct {
	Reason ColdReason `json:"reason"`
	Tokens int        `json:"tokens"`             // that had to be read anew
	USD    float64    `json:"cost_usd,omitempty"` // more than from the cache; 0 if prices are unknown
}

// A ColdReason says why a request was cold.
type ColdReason string

// The reasons.
const (
	ColdExpired    ColdReason = "expired"    // the last request was longer ago than the cache keeps anything
	ColdModel      ColdReason = "model"      // another model is asked
	ColdCompaction ColdReason = "compaction" // the history was replaced by a summary
	ColdChanged    ColdReason = "changed"    // tools changed, or something that the provider had refused was left out
	ColdUnknown    ColdReason = "unknown"    // the provider has dropped it
)

// String tells it in a line.
func (c *Cold) String() string {
	why := map[ColdReason]string{ColdExpired: "it had expired", ColdModel: "the model changed",
		ColdCompaction: "the conversation was compacted", ColdChanged: "the tools or an earlier message changed",
	}[c.Reason]
	if why == "" {
		why = "the provider had dropped it"
	}
	cost := ""
	if c.USD > 0 {
		cost = fmt.Sprintf(", for $%.3g more", c.USD)
	}
	return fmt.Sprintf("the prompt cache was cold (%s): %d tokens were read anew%s", why, c.Tokens, cost)
}

// The lifetimes of Anthropic's cache. Nobody else documents a shorter one.
const (
	shortCache = 5 * time.Minute
	longCache  = time.Hour
)

// answered holds what is known of the cache since the last answer.
type answered struct {
	usage            llm.Usage // of the last one whose counts are those of one request
	at               time.Time // of the answer, or of a renewal since
	used             time.Time // when the provider last read what it keeps, or a little earlier
	epoch, compacted int
	kept             time.Duration // for how long the provider keeps it
	paused           bool          // the session has paused for longer than the shorter lifetime
}

// noteAnswer notes an answer, whose request was sent at a time.
func (s *State) noteAnswer(r answerRecord, at time.Time) {
	next := answered{usage: r.Usage, at: at, used: at.Add(-r.Latency), epoch: r.in(s), compacted: s.compacted,
		kept: shortCache, paused: s.answered.paused}
	if sent := at.Add(-r.Latency); !s.answered.at.IsZero() && sent.Sub(s.answered.at) > shortCache {
		next.paused = true
	}
	if r.Usage.CacheWriteLong > 0 || r.Usage.CacheWrite == 0 && s.answered.kept == longCache {
		next.kept = longCache
	}
	if r.Usage.Searches > 0 { // sums of several rounds: the cache has at least what it had before
		next.usage = llm.Usage{}
		if was := s.answered; was.epoch == next.epoch && was.compacted == next.compacted {
			next.usage = was.usage
		}
	}
	s.answered = next
}

// cachesLong reports whether the next request asks for the longer lifetime.
func (s *State) cachesLong(now time.Time) bool {
	switch s.Policy.CacheLifetime {
	case CacheShort:
		return false
	case CacheLong:
		return true
	case CacheByPauses:
		if !s.answered.paused && (s.answered.at.IsZero() || now.Sub(s.answered.at) <= shortCache) {
			return false
		}
	}
	had := s.answered.usage.Input
	if now.Sub(s.answered.at) >= s.answered.kept || s.Epoch != s.answered.epoch {
		had = 0 // all of it is written anew
	}
	return (s.Context.Tokens()-had)*3 < had
}

// minCold is the least number of tokens that is told: Anthropic's cache begins at 1,024 to 4,096.
const minCold = 4096

// cold returns what the cache did not have of what an earlier answer had left there, nil if it had
// most. It is called before the answer is folded.
func (a *answered) cold(s *State, used llm.Usage, facts *llm.Model, sent time.Time) *Cold {
	if used.Searches > 0 { // sums of several rounds
		return nil
	}
	had := a.usage.CacheRead + a.usage.CacheWrite
	missed := min(had, used.Input) - used.CacheRead
	if missed < minCold || used.CacheRead > had/2 {
		return nil
	}
	c := &Cold{Reason: ColdUnknown, Tokens: missed}
	switch {
	case a.compacted != s.compacted:
		c.Reason = ColdCompaction
	case s.askedSince > a.epoch:
		c.Reason = ColdModel
	case a.epoch != s.Epoch:
		c.Reason = ColdChanged
	case sent.Sub(a.at) >= a.kept:
		c.Reason = ColdExpired
	}
	warm := used
	warm.CacheRead += missed
	warm.CacheWrite -= min(missed, used.CacheWrite)
	warm.CacheWriteLong = min(used.CacheWriteLong, warm.CacheWrite)
	cost, _ := facts.Cost(used)
	less, _ := facts.Cost(warm)
	c.USD = cost - less
	return c
}

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
	return r, ok && had > 0 && able(s, r.req.Provider, "RenewsCache",
		func(p llm.CacheRenewer) bool { return p.RenewsCache(r.req) })
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
