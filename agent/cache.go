package agent

import (
	"fmt"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// A CacheLifetime says for how long the provider's prompt cache is asked to keep what a request adds
// to it, where the provider offers a choice (Anthropic: five minutes, or an hour for more money).
type CacheLifetime string

// The values of CacheLifetime. The first two ask for the hour only while what is added is less than a
// third of what the cache has already: then the hour costs less than a fifth of writing all of that
// anew.
const (
	CacheByPauses  CacheLifetime = ""       // the hour, once the session has paused for more than five minutes
	CacheForPerson CacheLifetime = "person" // the hour: somebody is expected to think before the next input
	CacheShort     CacheLifetime = "5m"
	CacheLong      CacheLifetime = "1h"
)

// Cold tells that a request did not find in the provider's prompt cache what an earlier one had left
// there.
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
	next := answered{usage: r.Usage, at: at, used: at.Add(-r.Latency), epoch: r.in(s), compacted: s.compacted, kept: shortCache,
		paused: s.answered.paused}
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
