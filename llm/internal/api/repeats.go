package api

import "hash/maphash"

// remembered is how many of the last events can be recognized.
const remembered = 1024

// Repeats recognizes the events that a server sends twice, by the numbers that it gives them. An event is the same when its number
// and its bytes are: some servers number all events 0, or those of each kind for themselves, and mean nothing by it.
type Repeats struct {
	seed       maphash.Seed
	seen       []numbered // by the number modulo remembered
	last       int
	begun      bool
	disorderly bool // the numbers do not rise, so they say nothing
}

type numbered struct {
	number int
	hash   uint64
}

// Again reports whether the event came before. Negative numbers are none.
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
