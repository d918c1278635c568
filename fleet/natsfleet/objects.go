package natsfleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

const (
	objectStream = "objects"
	// objectChunk is the size of a piece. The server returns a piece in base64, in a message of at
	// most 1 MB.
	objectChunk = 512 << 10
	// inlineObject is the size up to which an object needs no pieces.
	inlineObject = 64 << 10
	// maxObject bounds one object: the numbers of its pieces fit into one message.
	maxObject   = 2 << 30
	maxName     = 512
	listAtOnce  = 16
	removeBatch = 64
)

// objects implements [fleet.Objects] in a stream. An object's head is the last message of the
// subject objects.head.NAME. The pieces of a large one are the messages of
// objects.data.NAME.VERSION. The head is written last, so an object is there whole or not at all.
type objects struct {
	account *account
	stream  jetstream.Stream
}

// objectHead describes an object.
type objectHead struct {
	Name    string   `json:"name"`
	Size    int64    `json:"size"`
	Hash    string   `json:"hash"`
	Version string   `json:"version"`
	Pieces  []uint64 `json:"pieces,omitempty"` // sequence numbers in the stream
	Data    []byte   `json:"data,omitempty"`   // of a small object
}

func newObjects(ctx context.Context, a *account) (*objects, error) {
	s, err := a.stream(ctx, jetstream.StreamConfig{Name: objectStream, Subjects: []string{"objects.>"},
		AllowRollup: true})
	if err != nil {
		return nil, err
	}
	return &objects{a, s}, nil
}

// nameTokens returns a name as tokens of a subject: one for each part between slashes.
func nameTokens(name string) (string, error) {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", fmt.Errorf("object %.600q: a name is UTF-8 of 1 to %d bytes without control characters: %w", name,
			maxName, fs.ErrInvalid)
	}
	return pathTokens(strings.Split(name, "/")), nil
}

func pathTokens(parts []string) string {
	tokens := make([]string, len(parts))
	for i, p := range parts {
		tokens[i] = "_" + base64.RawURLEncoding.EncodeToString([]byte(p)) // no token may be empty
	}
	return strings.Join(tokens, ".")
}

// Put implements [fleet.Objects].
func (o *objects) Put(ctx context.Context, name string, data io.Reader) (fleet.Artifact, error) {
	tokens, err := nameTokens(name)
	if err != nil {
		return fleet.Artifact{}, err
	}
	h := objectHead{Name: name, Version: rand.Text()}
	if err = o.putPieces(ctx, tokens, &h, data); err != nil {
		o.dropPieces(context.WithoutCancel(ctx), tokens, h)
	} else {
		err = o.putHead(ctx, tokens, h) // without an acknowledgement it may be there nevertheless
	}
	if err != nil {
		return fleet.Artifact{}, fmt.Errorf("object %s: %w", name, err)
	}
	return h.artifact(), nil
}

func (h objectHead) artifact() fleet.Artifact {
	return fleet.Artifact{Name: h.Name, Size: h.Size, Hash: h.Hash}
}

// putPieces stores the contents, and notes in the head where they are.
func (o *objects) putPieces(ctx context.Context, tokens string, h *objectHead, data io.Reader) error {
	sum := sha256.New()
	buf := make([]byte, objectChunk)
	for {
		n, err := io.ReadFull(data, buf)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		last := err != nil
		sum.Write(buf[:n]) // a hash never fails
		if h.Size += int64(n); h.Size > maxObject {
			return fmt.Errorf("it is larger than %d bytes, the most that one object may have", int64(maxObject))
		}
		if last && h.Pieces == nil && n <= inlineObject {
			h.Data = bytes.Clone(buf[:n])
		} else if n > 0 {
			ack, err := o.account.publish(ctx, &nats.Msg{Subject: dataSubject(tokens, h.Version), Data: buf[:n]})
			if err != nil {
				return err
			}
			h.Pieces = append(h.Pieces, ack.Sequence)
		}
		if last {
			h.Hash = hex.EncodeToString(sum.Sum(nil))
			return nil
		}
	}
}

// putHead makes the object known, in place of the one that was there, whose pieces it removes.
func (o *objects) putHead(ctx context.Context, tokens string, h objectHead) error {
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	for {
		old, at, err := o.head(ctx, tokens)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && old.Version == h.Version { // the acknowledgement was lost
			return nil
		}
		m := &nats.Msg{Subject: headSubject(tokens), Data: body,
			Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
		_, err = o.account.publish(ctx, m, jetstream.WithExpectLastSequencePerSubject(at))
		if isWrongSequence(err) { // another Put or Remove of this name was first
			continue
		}
		if err == nil {
			o.dropPieces(ctx, tokens, old)
		}
		return err
	}
}

func headSubject(tokens string) string          { return "objects.head." + tokens }
func dataSubject(tokens, version string) string { return "objects.data." + tokens + "." + version }

// dropPieces removes the pieces of a version. What it cannot remove is swept later.
func (o *objects) dropPieces(ctx context.Context, tokens string, h objectHead) {
	if len(h.Pieces) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	_ = o.stream.Purge(ctx, jetstream.WithPurgeSubject(dataSubject(tokens, h.Version))) // see sweep
}

// head returns the head of an object, and its sequence number: 0 if there has been none.
func (o *objects) head(ctx context.Context, tokens string) (h objectHead, at uint64, err error) {
	m, err := o.last(ctx, headSubject(tokens))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return h, 0, fs.ErrNotExist
	}
	if err != nil {
		return h, 0, err
	}
	return h, m.Sequence, json.Unmarshal(m.Data, &h)
}

// last returns the last message of a subject.
func (o *objects) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return retry(ctx, "objects", func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return o.stream.GetLastMsgForSubject(ctx, subject)
	})
}

// Open implements [fleet.Objects].
func (o *objects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	tokens, err := nameTokens(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	h, _, err := o.head(ctx, tokens)
	if err != nil {
		return nil, fmt.Errorf("object %s: %w", name, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	return &objectReader{ctx: ctx, cancel: cancel, objects: o, head: h, rest: h.Data, sum: sha256.New()}, nil
}

// objectReader reads an object, piece by piece.
type objectReader struct {
	ctx     context.Context // of Open, as io.Reader has none; ends with Close
	cancel  context.CancelFunc
	objects *objects
	head    objectHead
	next    int    // number of the next piece
	rest    []byte // of the last one
	size    int64
	sum     hash.Hash
	err     error // the end
}

// Read implements [io.Reader].
func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		if r.next == len(r.head.Pieces) {
			r.err = r.end()
			break
		}
		m, err := retry(r.ctx, "objects", func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
			return r.objects.stream.GetMsg(ctx, r.head.Pieces[r.next])
		})
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			r.err = r.again()
		case err != nil:
			r.err = err
		default:
			r.rest = m.Data
			r.next++
		}
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.sum.Write(p[:n]) // a hash never fails
	r.size += int64(n)
	r.rest = r.rest[n:]
	return n, nil
}

// again begins with the version that has replaced the one that is gone, if nothing was read yet.
func (r *objectReader) again() error {
	tokens, err := nameTokens(r.head.Name)
	if err != nil {
		return err
	}
	h, _, err := r.objects.head(r.ctx, tokens)
	switch {
	case err != nil:
		return fmt.Errorf("object %s: %w", r.head.Name, err)
	case h.Version == r.head.Version:
		return fmt.Errorf("object %s: a piece is missing: %w", r.head.Name, journal.ErrCorrupt)
	case r.size > 0:
		return fmt.Errorf("object %s: it was replaced while it was read; open it again", r.head.Name)
	}
	r.head, r.rest, r.next = h, h.Data, 0
	return nil
}

// end returns io.EOF if the contents are those that were stored.
func (r *objectReader) end() error {
	if r.size != r.head.Size || hex.EncodeToString(r.sum.Sum(nil)) != r.head.Hash {
		return fmt.Errorf("object %s: it is damaged: %w", r.head.Name, journal.ErrCorrupt)
	}
	return io.EOF
}

// Close implements [io.Closer].
func (r *objectReader) Close() error {
	r.cancel()
	return nil
}

// List implements [fleet.Objects].
func (o *objects) List(ctx context.Context, prefix string) iter.Seq2[fleet.Artifact, error] {
	return func(yield func(fleet.Artifact, error) bool) {
		names, err := o.names(ctx, prefix)
		if err != nil {
			yield(fleet.Artifact{}, err)
			return
		}
		for batch := range slices.Chunk(names, listAtOnce) {
			for _, got := range o.heads(ctx, batch) {
				if errors.Is(got.err, fs.ErrNotExist) { // removed meanwhile
					continue
				}
				if !yield(got.head.artifact(), got.err) || got.err != nil {
					return
				}
			}
		}
	}
}

// names returns the names that begin with prefix, in order.
func (o *objects) names(ctx context.Context, prefix string) ([]string, error) {
	filter := headSubject(">")
	if dir := strings.Split(prefix, "/"); len(dir) > 1 {
		filter = headSubject(pathTokens(dir[:len(dir)-1]) + ".>")
	}
	return o.match(ctx, filter, func(name string) bool { return strings.HasPrefix(name, prefix) })
}

// removeOf removes the objects of a task: those named KIND/TASK/..., with any KIND.
func (o *objects) removeOf(ctx context.Context, task string) error {
	names, err := o.match(ctx, headSubject("*."+pathTokens([]string{task})+".>"), func(string) bool { return true })
	if err != nil {
		return err
	}
	return o.Remove(ctx, names...)
}

// match returns the names that a filter of subjects and a func let through, in order.
func (o *objects) match(ctx context.Context, filter string, wanted func(name string) bool) ([]string, error) {
	info, err := retry(ctx, "objects", func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return o.stream.Info(ctx, jetstream.WithSubjectFilter(filter))
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for subject := range info.State.Subjects {
		if name, ok := subjectName(strings.TrimPrefix(subject, headSubject(""))); ok && wanted(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// subjectName returns the name that nameTokens made these tokens of.
func subjectName(tokens string) (string, bool) {
	var parts []string
	for t := range strings.SplitSeq(tokens, ".") {
		p, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(t, "_"))
		if err != nil {
			return "", false
		}
		parts = append(parts, string(p))
	}
	return strings.Join(parts, "/"), true
}

// gotHead is the head of an object, or the error of reading it.
type gotHead struct {
	head objectHead
	err  error
}

// heads reads the heads of some objects at once.
func (o *objects) heads(ctx context.Context, names []string) []gotHead {
	got := make([]gotHead, len(names))
	each(len(names), func(i int) {
		tokens, err := nameTokens(names[i])
		if err == nil {
			got[i].head, _, err = o.head(ctx, tokens)
		}
		got[i].err = err
	})
	return got
}

// Remove implements [fleet.Objects].
func (o *objects) Remove(ctx context.Context, names ...string) error {
	errs := make([]error, len(names))
	for at := 0; at < len(names); at += removeBatch {
		batch := names[at:min(at+removeBatch, len(names))]
		each(len(batch), func(i int) { errs[at+i] = o.remove(ctx, batch[i]) })
	}
	return errors.Join(errs...)
}

// remove removes an object: its head first, so that nobody finds half of it.
func (o *objects) remove(ctx context.Context, name string) error {
	tokens, err := nameTokens(name)
	if err != nil {
		return nil // there is none of that name
	}
	old, _, err := o.head(ctx, tokens)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = o.purge(ctx, headSubject(tokens))
	}
	if err != nil {
		return fmt.Errorf("object %s: %w", name, err)
	}
	o.dropPieces(ctx, tokens, old)
	return nil
}

// purge removes the messages of a subject.
func (o *objects) purge(ctx context.Context, subject string) error {
	_, err := retry(ctx, "objects", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
	return err
}

// sweep removes pieces that no head has: those of a Put whose process died, and those that
// dropPieces left. What has grown since before is left alone, because somebody may be storing it.
func (o *objects) sweep(ctx context.Context, before time.Time) error {
	info, err := o.stream.Info(ctx, jetstream.WithSubjectFilter("objects.data.>"))
	if err != nil {
		return err
	}
	for subject := range info.State.Subjects {
		rest := strings.TrimPrefix(subject, "objects.data.")
		at := strings.LastIndexByte(rest, '.')
		m, err := o.last(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && m.Time.After(before) {
			continue
		}
		if err != nil {
			return err
		}
		h, _, err := o.head(ctx, rest[:at])
		if err == nil && h.Version == rest[at+1:] {
			continue
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = o.purge(ctx, subject)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
