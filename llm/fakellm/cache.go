package fakellm

import (
	"crypto/sha256"

	"github.com/attractor-go/attractor/llm"
)

// bytesPerToken is the estimate behind every count that a script does not give.
const bytesPerToken = 4

// lookback is how many blocks before a breakpoint the cache is searched for an earlier request's breakpoint: Anthropic's rule.
const lookback = 20

// prefix is a beginning of a request that ends with a block: its hash, its size in bytes, and whether a breakpoint is there.
type prefix struct {
	sum    [sha256.Size]byte
	size   int
	marked bool
}

// cache remembers the prefixes that earlier requests set breakpoints at. Nothing is ever forgotten.
type cache map[[sha256.Size]byte]bool

// usage counts a request against the cache and enters its breakpoints.
func (c cache) usage(r *Request, prefixes []prefix, a *answer) llm.Usage {
	read, written := 0, 0
	for i, p := range prefixes {
		if !p.marked {
			continue
		}
		written = p.size
		for j := i; j >= 0 && j > i-lookback; j-- {
			if c[prefixes[j].sum] {
				read = max(read, prefixes[j].size)
				break
			}
		}
	}
	for _, p := range prefixes {
		if p.marked {
			c[p.sum] = true
		}
	}
	if a.Turn.Usage != nil {
		return *a.Turn.Usage
	}
	u := llm.Usage{Input: tokens(len(r.Body)), CacheRead: tokens(read), Output: tokens(a.size()), Reasoning: tokens(len(a.Thinking))}
	u.CacheWrite = tokens(max(written, read)) - u.CacheRead
	u.Input = max(u.Input, u.CacheRead+u.CacheWrite)
	return u
}

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
