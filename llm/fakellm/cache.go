package fakellm

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"hash"
	"math"
	"slices"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// bytesPerToken is used to estimate all token counts that a script does not give.
const bytesPerToken = 4

// lookback is the number of blocks before a breakpoint that are searched for an earlier request's
// breakpoint. It is Anthropic's rule.
const lookback = 20

// The times for which Anthropic keeps a prefix after its last use, by the mark of its breakpoint.
const (
	shortLife = 5 * time.Minute
	longLife  = time.Hour
)

// prefix is the beginning of a request up to the end of a block: its hash, its size in bytes, and
// the time for which its breakpoint keeps it, 0 without a breakpoint.
type prefix struct {
	sum  [sha256.Size]byte
	size int
	life time.Duration
}

// A prefixer collects the prefixes of a request.
type prefixer struct {
	hash hash.Hash
	size int
	list []prefix
}

func newPrefixer(model string) *prefixer {
	p := &prefixer{hash: sha256.New()}
	p.hash.Write([]byte(model + "\x00")) // never fails
	return p
}

// add ends a prefix with a block of the request.
func (p *prefixer) add(where string, block []byte, life time.Duration) {
	p.hash.Write([]byte(where + "\x00"))
	p.hash.Write(block)
	p.hash.Write([]byte{0})
	p.size += len(block)
	last := prefix{size: p.size, life: life}
	p.hash.Sum(last.sum[:0])
	p.list = append(p.list, last)
}

// automatic returns the prefixes of a request that a server caches without breakpoints: one that
// ends after from tokens, and one after every step tokens that follow. They are made of the body's
// bytes, so what is encoded differently is a miss, as it would be for the model.
func automatic(model string, body []byte, from, step int) []prefix {
	var w struct{ Tools, Instructions, SystemInstruction, Messages, Input, Contents json.RawMessage }
	_ = json.Unmarshal(body, &w) // it has been decoded before
	prompt := slices.Concat(w.Tools, w.Instructions, w.SystemInstruction, w.Messages, w.Input, w.Contents)
	prompt = bytes.TrimSuffix(prompt, []byte("]")) // where the next request has more
	p := newPrefixer(model)
	for begin, end := 0, from*bytesPerToken; end <= len(prompt); begin, end = end, end+step*bytesPerToken {
		p.add("", prompt[begin:end], math.MaxInt64)
	}
	return p.list
}

// cache holds the prefixes with breakpoints of earlier requests. Nothing is ever removed.
type cache map[[sha256.Size]byte]*kept

// kept is a prefix in the cache: the time for which it is kept after a use, and its last use.
type kept struct {
	life time.Duration
	used time.Time
}

// has reports whether the cache still has a prefix.
func (c cache) has(p *prefix, now time.Time) bool {
	k := c[p.sum]
	return k != nil && now.Sub(k.used) < k.life
}

// usage returns the usage of a request, given what the cache holds, and adds the request's
// breakpoints to the cache.
func (c cache) usage(r *Request, a *response, now time.Time) llm.Usage {
	read, written, life := 0, 0, time.Duration(0)
	for i, p := range r.prefixes {
		if p.life == 0 {
			continue
		}
		written, life = p.size, p.life
		for j := i; j >= 0 && j > i-lookback; j-- {
			if c.has(&r.prefixes[j], now) {
				read = max(read, r.prefixes[j].size)
				break
			}
		}
	}
	for i := range r.prefixes {
		p := &r.prefixes[i]
		switch known := c.has(p, now); {
		case known && p.size <= read:
			c[p.sum].used = now
		case p.life > 0:
			c[p.sum] = &kept{p.life, now}
		}
	}
	if a.Turn.Usage != nil {
		return within(*a.Turn.Usage, r.MaxTokens)
	}
	u := llm.Usage{Input: tokens(len(r.Body) - r.unread), CacheRead: tokens(read), Output: tokens(a.size()),
		Reasoning: tokens(len(a.Thinking))}
	u.CacheWrite = tokens(max(written, read)) - u.CacheRead
	if life == longLife {
		u.CacheWriteLong = u.CacheWrite
	}
	u.Input = max(u.Input, u.CacheRead+u.CacheWrite)
	return within(u, r.MaxTokens)
}

// within cuts the output of a usage to the tokens that a request allows, as no API reports more.
// With 0 there is no limit.
func within(u llm.Usage, maxTokens int) llm.Usage {
	if maxTokens > 0 {
		u.Output = min(u.Output, maxTokens)
		u.Reasoning = min(u.Reasoning, u.Output)
	}
	return u
}

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
