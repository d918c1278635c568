package natsfleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

// Subjects beside a log, each followed by a hash or by the name of an upload.
const (
	blobKind  = ".hash"  // what PutBlob stores
	linesKind = ".lines" // lines that are too long for one message
	partsKind = ".parts" // the pieces of either
)

// room returns how many bytes of lines fit into one message.
func (j *journals) room() int { return max(int(j.nc.MaxPayload())-4<<10, 4<<10) }

func (p journalPlace) blobSubject(kind string) string { return p.subject(blobsSubject) + kind }

// putBlob stores a blob and returns its hash. A blob that is there already stays.
func (p journalPlace) putBlob(ctx context.Context, kind string, data io.Reader) (string, error) {
	h, err := p.blobs.put(ctx, p.blobSubject(partsKind), data)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(h)
	if err == nil {
		_, err = p.blobs.records.Put(ctx, rand.Text(), p.blobSubject(kind)+"."+h.Hash, body, 0, 0)
	}
	if errors.Is(err, engine.ErrChanged) {
		p.blobs.drop(ctx, h)
		err = nil
	}
	return h.Hash, err
}

// blob opens a blob.
func (p journalPlace) blob(ctx context.Context, kind, hash string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !journal.IsHash(hash) {
		return nil, p.errorf("blob %.100q: %w", hash, fs.ErrNotExist)
	}
	h, err := p.blobs.head(ctx, p.blobSubject(kind)+"."+hash)
	if err != nil {
		return nil, p.errorf("blob %s: %w", hash, err)
	}
	h.Hash = hash // and not what a damaged head may say
	return p.blobs.open(ctx, h), nil
}

// copyBlobs copies the blobs of another log.
func (p journalPlace) copyBlobs(ctx context.Context, source journalPlace) error {
	prefix := source.blobSubject(blobKind) + "."
	subjects, err := source.blobs.Keys(ctx, prefix+"*")
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
