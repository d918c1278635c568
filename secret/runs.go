package secret

import "strings"

// suffix holds the text from the head of a format on.
type suffix struct {
	text string
	base int // its offset in the whole text
	runs *runs
}

// runs remembers what was found out about the characters of a text, because the head of a key may
// be repeated inside of it.
type runs struct {
	spans [8]run

	// from here on the first run of 12 letters and digits begins at start or behind; all to the end
	// are some
	from, start, end int
	steps            int // characters looked at
}

// run is a part of the text that has only letters, digits and extra characters.
type run struct {
	extra    string
	from, to int
}

// runEnd returns the end of the run of letters, digits and extra characters that begins at from, at
// most limit.
func (s *suffix) runEnd(from, limit int, extra string) int {
	r := s.runs.at(s.base+from, extra)
	limit = min(limit, len(s.text))
	end := r.to - s.base
	for ; end < limit && (isAlnum(s.text[end]) || strings.IndexByte(extra, s.text[end]) >= 0); end++ {
		s.runs.steps++
	}
	r.to = max(r.to, s.base+end)
	return min(end, limit)
}

// at returns what is known of the run of extra characters that has an offset.
func (r *runs) at(at int, extra string) *run {
	first := &r.spans[0] // the one that ends first
	for i := range r.spans {
		known := &r.spans[i]
		if known.from <= at && at <= known.to && known.extra == extra {
			return known
		}
		if known.to < first.to {
			first = known
		}
	}
	*first = run{extra, at, at}
	return first
}

// hasRun reports whether there are 12 letters and digits in a row between two offsets: a name of
// several words is no key.
func (s *suffix) hasRun(from, end int) bool {
	const least = 12
	r := s.runs
	if at := s.base + from; at < r.from || at > r.end {
		r.from, r.start, r.end = at, at, at
	} else {
		r.from, r.start = at, max(r.start, at)
	}
	for to := s.base + end; r.end < to && r.end-r.start < least; r.end++ {
		r.steps++
		if !isAlnum(s.text[r.end-s.base]) {
			r.start = r.end + 1
		}
	}
	return r.end-r.start >= least && r.start+least <= s.base+end
}
