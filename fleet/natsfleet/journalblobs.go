package natsfleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/attractor-go/attractor/journal"
)

// Headers of the message that makes a blob of parts known. A blob that fits into this message has
// no parts, and none of the headers.
const (
	headerUpload = "Attractor-Upload" // names the chain of the parts
	headerLast   = "Attractor-Last"   // sequence of the last part
)

// Subjects beside a log, each followed by a hash or by the name of an upload.
const (
	blobKind  = ".hash."  // what PutBlob stores
	linesKind = ".lines." // lines that are too long for one message
	partsKind = ".parts." // the parts of either
)

// roomAround is what a message needs beside its data, at most.
const roomAround = 4 << 10

// room returns how many bytes of data fit into one message.
func (j *journals) room() int { return max(int(j.a.nc.MaxPayload())-roomAround, roomAround) }

func (p journalPlace) blobChain(kind, name string) chain {
	return chain{journalStream: p.blobs, subject: p.subject(blobsSubject) + kind + name}
}

// blobWriter stores a blob. It sends parts as they fill up; commit makes the blob known, so it is
// there as a whole or not at all.
type blobWriter struct {
	ctx    context.Context // of the call that stores the blob
	place  journalPlace
	sum    hash.Hash
	buffer []byte
	upload string // the name of the parts
	last   uint64 // sequence of the last part
}

func (p journalPlace) newBlob(ctx context.Context) *blobWriter {
	return &blobWriter{ctx: ctx, place: p, sum: sha256.New(), upload: nuid.Next()}
}

// Write implements [io.Writer].
func (b *blobWriter) Write(data []byte) (int, error) {
	b.sum.Write(data)
	b.buffer = append(b.buffer, data...)
	room := b.place.j.room()
	for len(b.buffer) > room {
		if err := b.send(b.buffer[:room]); err != nil {
			return 0, err
		}
		b.buffer = b.buffer[:copy(b.buffer, b.buffer[room:])]
	}
	return len(data), nil
}

// send stores a part.
func (b *blobWriter) send(part []byte) error {
	last, err := b.place.blobChain(partsKind, b.upload).publish(b.ctx, nuid.Next(), b.last, nats.Header{}, part)
	if err == nil {
		b.last = last
	}
	return err
}

// inline reports whether everything is still in the buffer.
func (b *blobWriter) inline() bool { return b.last == 0 }

// commit makes the blob known under its hash, and returns that. A blob that is there already stays.
func (b *blobWriter) commit(kind string) (string, error) {
	header := nats.Header{}
	if !b.inline() {
		if err := b.send(b.buffer); err != nil {
			return "", err
		}
		b.buffer = nil
		header.Set(headerUpload, b.upload)
		header.Set(headerLast, strconv.FormatUint(b.last, 10))
	}
	hash := hex.EncodeToString(b.sum.Sum(nil))
	_, err := b.place.blobChain(kind, hash).publish(b.ctx, nuid.Next(), 0, header, b.buffer)
	if errors.As(err, new(*takenError)) {
		b.abort()
		err = nil
	}
	return hash, err
}

// abort removes the parts.
func (b *blobWriter) abort() {
	if b.inline() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), attemptTime)
	defer cancel()
	// what stays is removed with the log
	_ = b.place.blobs.purge(ctx, b.place.blobChain(partsKind, b.upload).subject, 0)
}

// putBlob stores a blob and returns its hash.
func (p journalPlace) putBlob(ctx context.Context, kind string, data io.Reader) (string, error) {
	b := p.newBlob(ctx)
	buf := make([]byte, 64<<10)
	for {
		if err := ctx.Err(); err != nil {
			b.abort()
			return "", err
		}
		n, err := data.Read(buf)
		if n > 0 {
			if _, err := b.Write(buf[:n]); err != nil {
				b.abort()
				return "", err
			}
		}
		if err == io.EOF {
			return b.commit(kind)
		}
		if err != nil {
			b.abort()
			return "", err
		}
	}
}

// blob opens a blob.
func (p journalPlace) blob(ctx context.Context, kind, hash string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isHash(hash) {
		return nil, p.errorf("blob %.100q: %w", hash, fs.ErrNotExist)
	}
	m, err := p.blobChain(kind, hash).last(ctx)
	if err == nil && m == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, p.errorf("blob %s: %w", hash, err)
	}
	parts := func(yield func(*storedMessage, error) bool) { yield(m, nil) }
	if upload := m.header.Get(headerUpload); upload != "" {
		parts = p.blobChain(partsKind, upload).read(ctx, 0, uint64(m.number(headerLast)))
	}
	r := &blobReader{journalPlace: p, hash: hash, sum: sha256.New()}
	r.next, r.stop = iter.Pull2(parts)
	return r, nil
}

// isHash reports whether a name is a SHA-256 in lower-case hex.
func isHash(name string) bool {
	return len(name) == hex.EncodedLen(sha256.Size) && strings.Trim(name, "0123456789abcdef") == ""
}

// blobReader reads a blob, and checks its hash at the end.
type blobReader struct {
	journalPlace
	hash string
	sum  hash.Hash
	next func() (*storedMessage, error, bool)
	stop func()
	rest []byte // of the part that was read last
	err  error
}

// Read implements [io.Reader].
func (r *blobReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		m, err, ok := r.next()
		switch {
		case err != nil:
			r.err = r.errorf("blob %s: %w", r.hash, err)
		case ok:
			r.rest = m.data
			r.sum.Write(m.data)
		case hex.EncodeToString(r.sum.Sum(nil)) != r.hash:
			r.err = r.errorf("%w: blob %s is not what was stored", journal.ErrCorrupt, r.hash)
		default:
			r.err = io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	if n == 0 && len(p) > 0 {
		return 0, r.err
	}
	return n, nil
}

// Close implements [io.Closer].
func (r *blobReader) Close() error {
	r.stop()
	r.rest, r.err = nil, fmt.Errorf("blob %s: %w", r.hash, fs.ErrClosed)
	return nil
}

// copyBlobs copies the blobs of another log.
func (p journalPlace) copyBlobs(ctx context.Context, source journalPlace) error {
	prefix := source.blobChain(blobKind, "").subject
	subjects, err := source.blobs.subjects(ctx, prefix+"*")
	if err != nil {
		return source.errorf("%w", err)
	}
	for _, subject := range subjects {
		hash := strings.TrimPrefix(subject, prefix)
		blob, err := source.blob(ctx, blobKind, hash)
		if err != nil {
			return err
		}
		_, err = p.putBlob(ctx, blobKind, blob)
		if err = errors.Join(err, blob.Close()); err != nil {
			return p.errorf("cannot copy blob %s: %w", hash, err)
		}
	}
	return nil
}
