package capture

// ring keeps the last bytes written to it and counts the others.
type ring struct {
	kept blocks
	next int   // where the oldest byte is and the next one goes, once all room is taken
	lost tally // what was written and is not kept
}

// write adds p to a ring of a size, which must always be the same.
func (r *ring) write(p []byte, size int) {
	if size == 0 {
		r.lost.add(p)
		return
	}
	n := min(size-r.kept.size, len(p))
	r.kept.add(p[:n])
	for p = p[n:]; len(p) > 0; {
		over := r.kept.at(r.next)
		over = over[:min(len(over), len(p))]
		r.lost.add(over)
		p = p[copy(over, p):]
		r.next = (r.next + len(over)) % size
	}
}

// appendTo appends the kept bytes from an offset up to another one, counted from the oldest, to a slice.
func (r *ring) appendTo(p []byte, from, to int) []byte {
	old := r.kept.size - r.next // so many come before the start of the blocks
	p = r.kept.appendTo(p, r.next+from, r.next+min(to, old))
	return r.kept.appendTo(p, max(from-old, 0), to-old)
}
