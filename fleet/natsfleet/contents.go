package natsfleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

const (
	// maxPiece bounds a piece, and maxInline contents without pieces. The server returns a message
	// in base64, in one of at most 1 MB.
	maxPiece  = 512 << 10
	maxInline = 64 << 10
	// maxContents bounds contents: the numbers of their pieces fit into one message.
	maxContents = 2 << 30
)

// contents are objects and blobs in a stream. Each has a head, the last message of its subject,
// which is written last, so it is there whole or not at all. The pieces of large ones are messages
// of another subject.
type contents struct {
	*records
}

// contentHead describes contents.
type contentHead struct {
	Name   string   `json:"name,omitempty"`
	Size   int64    `json:"size"`
	Hash   string   `json:"hash"`             // SHA-256, in lower-case hex
	Pieces []uint64 `json:"pieces,omitempty"` // sequence numbers in the stream
	At     string   `json:"at,omitempty"`     // the subject of the pieces
	Data   []byte   `json:"data,omitempty"`   // of small ones
}

// put stores contents, and returns their head, which is not stored yet. The pieces get a subject of
// their own below at. A caller that does not store the head calls drop.
func (c *contents) put(ctx context.Context, at string, data io.Reader) (contentHead, error) {
	h := contentHead{At: at + "." + rand.Text()}
	err := c.putPieces(ctx, &h, data)
	if err != nil {
		c.drop(context.WithoutCancel(ctx), h)
	}
	return h, err
}

func (c *contents) putPieces(ctx context.Context, h *contentHead, data io.Reader) error {
	room := int(c.nc.MaxPayload()) - 4<<10
	sum := sha256.New()
	buf := make([]byte, min(maxPiece, room))
	for {
		n, err := io.ReadFull(data, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		last := err != nil
		sum.Write(buf[:n]) // a hash never fails
		if h.Size += int64(n); h.Size > maxContents {
			return fmt.Errorf("it is larger than %d bytes, the most that one object may have", int64(maxContents))
		}
		if last && h.Pieces == nil && n <= min(maxInline, room/2) {
			h.Data = bytes.Clone(buf[:n])
		} else if n > 0 {
			ack, err := c.publish(ctx, &nats.Msg{Subject: h.At, Data: buf[:n]})
			if err != nil {
				return err
			}
			h.Pieces = append(h.Pieces, ack.Sequence)
		}
		if last {
			h.Hash = hex.EncodeToString(sum.Sum(nil))
			return ctx.Err()
		}
	}
}

// drop removes the pieces of contents. Pieces that it cannot remove are removed with the task or
// the log.
func (c *contents) drop(ctx context.Context, h contentHead) {
	if len(h.Pieces) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	_ = c.stream.Purge(ctx, jetstream.WithPurgeSubject(h.At)) // see above
}

// head returns a head.
func (c *contents) head(ctx context.Context, subject string) (h contentHead, err error) {
	r, err := c.Get(ctx, subject)
	if err != nil {
		return h, err
	}
	return headOf(r)
}

// headOf returns the head that a record has. The error is fs.ErrNotExist if there is none.
func headOf(r engine.Record) (h contentHead, err error) {
	if r.Seq == 0 {
		return h, fs.ErrNotExist
	}
	if err := json.Unmarshal(r.Data, &h); err != nil {
		return h, fmt.Errorf("%w: %w", journal.ErrCorrupt, err)
	}
	return h, nil
}

// open returns a reader of contents.
func (c *contents) open(ctx context.Context, h contentHead) io.ReadCloser {
	return io.NopCloser(&contentReader{ctx: ctx, contents: c, head: h, rest: h.Data, sum: sha256.New()})
}

// contentReader reads contents, piece by piece.
type contentReader struct {
	ctx      context.Context // of open, as io.Reader has none
	contents *contents
	head     contentHead
	next     int    // number of the next piece
	rest     []byte // of the last one
	sum      hash.Hash
}

// Read implements [io.Reader]. At the end it returns io.EOF if the hash is the one that was stored.
func (r *contentReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if r.next == len(r.head.Pieces) {
			if hex.EncodeToString(r.sum.Sum(nil)) != r.head.Hash {
				return 0, fmt.Errorf("it is damaged: %w", journal.ErrCorrupt)
			}
			return 0, io.EOF
		}
		m, err := retry(r.ctx, r.contents.account, makeTime, func(ctx context.Context) (*jetstream.RawStreamMsg,
			error) {
			return r.contents.stream.GetMsg(ctx, r.head.Pieces[r.next])
		})
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return 0, fmt.Errorf("a piece is missing, unless it was removed or replaced while it was read: %w: %w",
				journal.ErrCorrupt, fs.ErrNotExist)
		}
		if err != nil {
			return 0, err
		}
		r.rest = m.Data
		r.next++
	}
	n := copy(p, r.rest)
	r.sum.Write(p[:n]) // a hash never fails
	r.rest = r.rest[n:]
	return n, nil
}
