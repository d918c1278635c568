package secret

import (
	"hash/maphash"
	"strings"
	"sync"
)

// clean remembers texts without secrets, because the same text passes several doors of a session.
// It holds only hashes, whose seed nobody knows outside of the process. It is safe for concurrent
// use.
type clean struct {
	seed maphash.Seed

	mu     sync.Mutex
	hashes [64]uint64
	count  int
}

// worthHash is the least length of a text that clean remembers.
const worthHash = 4 << 10

// has reports whether a text, which has this hash, was added.
func (c *clean) has(hash uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.hashes[:min(c.count, len(c.hashes))] {
		if known == hash {
			return true
		}
	}
	return false
}

// add adds the hash of a text. It may replace the oldest one.
func (c *clean) add(hash uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hashes[c.count%len(c.hashes)] = hash
	c.count++
}

// shared holds the last piece without secrets of one of several streams, because the others will
// probably get it too. It is safe for concurrent use.
type shared struct {
	mu      sync.Mutex
	matcher *matcher // that was used
	before  string
	text    []byte
	safe    int
}

// The least and the greatest length of a piece that is shared.
const minShared, maxShared = 256, 256 << 10

// look returns what was found out about a text.
func (k *shared) look(m *matcher, text, before string) (safe int, ok bool) {
	if k == nil || len(text) < minShared || len(text) > maxShared {
		return 0, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.matcher != m || k.before != before || view(k.text) != text {
		return 0, false
	}
	return k.safe, true
}

// keep remembers that a text has no secrets up to an offset.
func (k *shared) keep(m *matcher, text, before string, safe int) {
	if k == nil || len(text) < minShared || len(text) > maxShared {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.matcher, k.before, k.text, k.safe = m, strings.Clone(before), append(k.text[:0], text...), safe
}
