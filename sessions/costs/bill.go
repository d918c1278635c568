package costs

import (
	"slices"
	"sort"
)

// bill divides the costs of requests among the parts of the newest one. Each request has the first
// of them, in their order, so what a request costs is noted for ranges of parts and added up once:
// a session of n requests would take n² steps otherwise.
type bill struct {
	shares []share
	ends   []int  // where each share ends, in characters of the request
	firsts []bool // the shares that are the first ones of their part
	// due[i] is what each character of the shares from i on owes more than those before.
	due []rate
}

// share is what a request has of a part, in characters.
type share struct {
	chars int
	*part
}

// rate is what a character owes: tokens and dollars. It counts the requests, too.
type rate struct {
	tokens, usd float64
	requests    int
}

// newBill returns a bill with the parts that a request begins with.
func newBill(shares []share) *bill {
	b := &bill{due: make([]rate, 1)}
	b.add(shares)
	return b
}

// add adds the next parts of requests.
func (b *bill) add(shares []share) {
	for _, s := range shares {
		first := s.chars > 0 && s.on != b
		if first {
			s.on = b
		}
		end := s.chars
		if n := len(b.ends); n > 0 {
			end += b.ends[n-1]
		}
		b.shares, b.ends = append(b.shares, s), append(b.ends, end)
		b.firsts, b.due = append(b.firsts, first), append(b.due, rate{})
	}
}

// charge divides the cost of the input of a request that had the first n shares.
func (b *bill) charge(n int, input, read, written float64, price prices) {
	if n <= 0 || b.ends[n-1] == 0 || input == 0 {
		return
	}
	tokens := input / float64(b.ends[n-1]) // of a character
	b.owe(0, n, rate{tokens: tokens, requests: 1})
	// The cache ends within a share, and what was written to it within this one or another.
	i := sort.Search(n, func(i int) bool { return float64(b.ends[i])*tokens > read })
	j := max(i, sort.Search(n, func(i int) bool { return float64(b.ends[i])*tokens > written }))
	b.owe(0, i, rate{usd: price.read * tokens})
	b.owe(i+1, j, rate{usd: price.write * tokens})
	b.owe(j+1, n, rate{usd: price.fresh * tokens})
	for _, at := range slices.Compact([]int{i, j}) {
		if at < n {
			s := b.shares[at]
			end := float64(b.ends[at]) * tokens
			s.USD += price.of(end-float64(s.chars)*tokens, end, read, written)
		}
	}
}

// owe notes a rate for the shares from one up to another, without that.
func (b *bill) owe(from, to int, r rate) {
	if from >= to {
		return
	}
	b.due[from] = b.due[from].plus(r, 1)
	b.due[to] = b.due[to].plus(r, -1)
}

func (r rate) plus(o rate, sign int) rate {
	return rate{r.tokens + float64(sign)*o.tokens, r.usd + float64(sign)*o.usd, r.requests + sign*o.requests}
}

// settle adds what is due to the parts.
func (b *bill) settle() {
	var now rate
	for i, s := range b.shares {
		now = now.plus(b.due[i], 1)
		s.tokens += now.tokens * float64(s.chars)
		s.USD += now.usd * float64(s.chars)
		if b.firsts[i] {
			s.Requests += now.requests
		}
	}
	clear(b.due)
}
