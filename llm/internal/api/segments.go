package api

import "io"

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
