package api

import "hash/maphash"

// remembered is the number of recent events that can be recognized.
const remembered = 1024

// Repeats recognizes events that a server sends twice, by their numbers. Only an event with the
// same number and the same bytes is the same event, because some servers number all events 0, or
// number each kind separately.
type Repeats struct {
	seed       maphash.Seed
	seen       []numbered // by the number modulo remembered
	last       int
	begun      bool
	disorderly bool // the numbers do not increase, so they mean nothing
}

type numbered struct {
	number int
	hash   uint64
}

// Again reports whether the event came before. A negative number is none.
func (r *Repeats) Again(number int, data []byte) bool {
	if number < 0 || r.disorderly {
		return false
	}
	if !r.begun {
		r.seed = maphash.MakeSeed()
	}
	slot, event := number%remembered, numbered{number, maphash.Bytes(r.seed, data)}
	if r.begun && number <= r.last {
		if slot < len(r.seen) && r.seen[slot] == event {
			return true
		}
		r.disorderly = true
		r.seen = nil
		return false
	}
	for len(r.seen) <= slot {
		r.seen = append(r.seen, numbered{number: -1})
	}
	r.seen[slot], r.last, r.begun = event, number, true
	return false
}
