package api

import (
	"io"
	"net"
)

// segments is a request body in pieces, so that the encoded conversation is sent without being copied.
type segments [][]byte

func (s segments) size() int64 {
	var n int64
	for _, b := range s {
		n += int64(len(b))
	}
	return n
}

// reader returns a new reader of the whole body. Several may read at the same time.
func (s segments) reader() io.ReadCloser { return &segmentReader{rest: s} }

type segmentReader struct {
	rest segments
	at   int // in rest[0]
}

func (r *segmentReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.rest) > 0 {
		m := copy(p[n:], r.rest[0][r.at:])
		n, r.at = n+m, r.at+m
		if r.at == len(r.rest[0]) {
			r.rest, r.at = r.rest[1:], 0
		}
	}
	if n == 0 && len(r.rest) == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *segmentReader) Close() error { return nil }

// writeTo writes up to limit bytes of the rest to a connection. It copies nothing: the operating system gets all segments at once.
func (r *segmentReader) writeTo(conn net.Conn, limit int64) (int64, error) {
	list := make(net.Buffers, 0, len(r.rest))
	for i, b := range r.rest {
		if i == 0 {
			b = b[r.at:]
		}
		b = b[:min(int64(len(b)), limit)]
		limit -= int64(len(b))
		list = append(list, b)
	}
	n, err := list.WriteTo(conn)
	r.skip(n)
	return n, err
}

// skip advances by n bytes.
func (r *segmentReader) skip(n int64) {
	for len(r.rest) > 0 && n >= int64(len(r.rest[0])-r.at) {
		n -= int64(len(r.rest[0]) - r.at)
		r.rest, r.at = r.rest[1:], 0
	}
	r.at += int(n)
}
