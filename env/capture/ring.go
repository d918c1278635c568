package capture

// ring keeps the last bytes that were written to it and counts the others.
type ring struct {
	kept blocks
	next int   // once the ring is full, the offset of the oldest byte, which the next one replaces
	lost tally // counts what was written and is no longer kept
}

// write adds p. The size must be the same in every call.
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

// appendTo appends the kept bytes between two offsets to p. Offsets count from the oldest byte.
func (r *ring) appendTo(p []byte, from, to int) []byte {
	old := r.kept.size - r.next // how many bytes lie between the oldest one and the end of the blocks
	p = r.kept.appendTo(p, r.next+from, r.next+min(to, old))
	return r.kept.appendTo(p, max(from-old, 0), to-old)
}
