package env

// ring keeps the last bytes written to it.
type ring struct {
	buf  []byte
	next int // where the oldest byte is and the next one goes, once buf is full
}

// minRing is the first size of a ring's buffer; most commands print less.
const minRing = 4 << 10

// write adds p to a ring of a size, which must always be the same.
func (r *ring) write(p []byte, size int) {
	if len(p) >= size {
		r.grow(size, size)
		r.buf, r.next = append(r.buf[:0], p[len(p)-size:]...), 0
		return
	}
	if room := size - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.grow(len(r.buf)+n, size)
		r.buf = append(r.buf, p[:n]...)
		p = p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.next:], p)
		p = p[n:]
		r.next = (r.next + n) % size
	}
}

// grow makes room for n bytes by doubling, so that growing is cheap and the buffer never larger than size.
func (r *ring) grow(n, size int) {
	if n <= cap(r.buf) {
		return
	}
	buf := make([]byte, len(r.buf), min(max(n, 2*cap(r.buf), minRing), size))
	copy(buf, r.buf)
	r.buf = buf
}

// appendTo appends the ring's bytes, oldest first, without the first skip of them.
func (r *ring) appendTo(b []byte, skip int) []byte {
	old, young := r.buf[r.next:], r.buf[:r.next]
	if skip < len(old) {
		b = append(b, old[skip:]...)
	}
	return append(b, young[max(skip-len(old), 0):]...)
}
