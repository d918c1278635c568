package natsfleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

// Headers of the messages of a log. Besides, each names the one before it, with
// [jetstream.ExpectedLastSubjSeqHeader].
const (
	headerFirst = "Attractor-First" // the number of the first record in the message, or of the next one if it has none
	headerCount = "Attractor-Count" // the number of records
	headerSize  = "Attractor-Size"  // the bytes of all lines of the log up to here
	headerBody  = "Attractor-Body"  // the blob that has the lines, if the message has not
)

// journalEnd is a place in a log: after its last message, at some time.
type journalEnd struct {
	seq  uint64 // of the message
	next int64  // number of the next record
	size int64  // bytes of all lines
}

// storedMessage is a message as the stream has stored it.
type storedMessage = jetstream.RawStreamMsg

// number returns a header that holds a number, or 0.
func number(m *storedMessage, key string) int64 {
	n, err := strconv.ParseInt(m.Header.Get(key), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// follows reports whether a message names the one with a sequence as the one before it, 0 for none.
func follows(m *storedMessage, seq uint64) bool {
	return m.Header.Get(jetstream.ExpectedLastSubjSeqHeader) == strconv.FormatUint(seq, 10)
}

// endOf returns the end of a log, given its last message. The error is journal.ErrCorrupt if that
// is not a message of a log.
func endOf(m *storedMessage) (journalEnd, error) {
	first, count := number(m, headerFirst), number(m, headerCount)
	if first < 1 || count < 0 {
		return journalEnd{}, fmt.Errorf("%w: message %d, %s, is none of a log", journal.ErrCorrupt, m.Sequence,
			m.Subject)
	}
	return journalEnd{seq: m.Sequence, next: first + count, size: number(m, headerSize)}, nil
}

// journalLines is what a message holds.
type journalLines struct {
	first, count int64
	size         int64
	data         []byte // nil if the lines are kept as a blob
	blob         string
}

// linesOf returns the lines of an Append.
func linesOf(next int64, records []journal.Record) (journalLines, error) {
	l := journalLines{first: next, count: int64(len(records))}
	for i, r := range records {
		r.N = next + int64(i)
		var err error
		if l.data, err = journal.AppendLine(l.data, r, i < len(records)-1); err != nil {
			return journalLines{}, err
		}
	}
	l.size = int64(len(l.data))
	return l, nil
}

// journalWriter implements [journal.Log].
type journalWriter struct {
	journalPlace
	turn chan struct{} // holds one element while something is appended, which may take long

	mu     sync.Mutex // never held during a request; it guards what follows
	end    journalEnd
	closed bool
}

func newJournalWriter(p journalPlace, end journalEnd) *journalWriter {
	return &journalWriter{journalPlace: p, turn: make(chan struct{}, 1), end: end}
}

// Append implements [journal.Log]. What was sent is waited for, also after the end of ctx.
func (w *journalWriter) Append(ctx context.Context, next int64, records ...journal.Record) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
	}
	end, err := w.usable()
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return err
	}
	if next != end.next {
		return fmt.Errorf("%w: session %s: expected to write record %d, the log has %d", journal.ErrConflict, w.id,
			next, end.next-1)
	}
	if len(records) == 0 {
		return w.check(ctx)
	}
	l, err := linesOf(next, records)
	if err != nil {
		return err
	}
	if l, err = w.fitting(ctx, l); err == nil {
		err = w.publish(ctx, l)
	}
	if errors.Is(err, engine.ErrChanged) {
		return cmp.Or(w.check(ctx), err)
	}
	if err != nil {
		return w.errorf("cannot append: %w", err)
	}
	return nil
}

// fitting returns lines that fit into a message. It stores lines that do not fit as a blob.
func (p journalPlace) fitting(ctx context.Context, l journalLines) (_ journalLines, err error) {
	if len(l.data) > p.j.room() {
		l.blob, err = p.putBlob(ctx, linesKind, bytes.NewReader(l.data))
		l.data = nil
	}
	return l, err
}

// usable returns the end of the log, or an error if nothing can be appended any more.
func (w *journalWriter) usable() (journalEnd, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.end, w.errorf("%w", fs.ErrClosed)
	}
	return w.end, nil
}

// check returns an error if the log was removed, or another writer has taken it over.
func (w *journalWriter) check(ctx context.Context) error {
	m, err := w.last(ctx)
	if err == nil && m.Sequence != w.now().end.seq {
		err = fmt.Errorf("%w: session %s was taken over", journal.ErrConflict, w.id)
	}
	return err
}

// publish adds a message to the log and moves its end. The error is engine.ErrChanged if the log
// has another end. The caller holds turn, or nobody else has the writer yet.
func (w *journalWriter) publish(ctx context.Context, l journalLines) error {
	end := w.now().end
	after := journalEnd{next: l.first + l.count, size: end.size + l.size}
	m := &nats.Msg{Subject: w.subject(recordsSubject), Data: l.data, Header: nats.Header{
		headerFirst: {strconv.FormatInt(l.first, 10)}, headerCount: {strconv.FormatInt(l.count, 10)},
		headerSize: {strconv.FormatInt(after.size, 10)}}}
	if l.blob != "" {
		m.Header.Set(headerBody, l.blob)
	}
	var err error
	after.seq, err = w.records.write(context.WithoutCancel(ctx), makeTime, m, rand.Text(), end.seq)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = after
	return nil
}

// Sync implements [journal.Log]. What the server has acknowledged is as durable as it is configured
// to make it: by default on its disk, and on those of most replicas.
func (w *journalWriter) Sync(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.errorf("%w", fs.ErrClosed)
	}
	return nil
}

// Len implements [journal.Reader].
func (w *journalWriter) Len() int64 { return w.now().Len() }

// Records implements [journal.Reader].
func (w *journalWriter) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return w.now().Records(ctx, from)
}

// now returns a reader of the log as it is now.
func (w *journalWriter) now() *journalReader {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &journalReader{journalPlace: w.journalPlace, end: w.end}
}

// Blob implements [journal.Reader].
func (w *journalWriter) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return w.blob(ctx, blobKind, hash)
}

// PutBlob implements [journal.Log].
func (w *journalWriter) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	_, err := w.usable()
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return "", err
	}
	hash, err := w.putBlob(ctx, blobKind, data)
	if err != nil {
		return "", w.errorf("cannot store a blob: %w", err)
	}
	return hash, nil
}

// Close implements [journal.Reader]. Others can open the log at any time, so there is nothing to
// release.
func (w *journalWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.errorf("%w", fs.ErrClosed)
	}
	w.closed = true
	return nil
}

// journalReader implements [journal.Reader] for a log as it was at one time.
type journalReader struct {
	journalPlace
	end journalEnd
}

// Len implements [journal.Reader].
func (r *journalReader) Len() int64 { return r.end.next - 1 }

// Blob implements [journal.Reader].
func (r *journalReader) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	return r.blob(ctx, blobKind, hash)
}

// Close implements [journal.Reader]. It does nothing.
func (r *journalReader) Close() error { return nil }

// Records implements [journal.Reader].
func (r *journalReader) Records(ctx context.Context, from int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		if from >= r.end.next {
			return
		}
		p := journalPass{journalPlace: r.journalPlace, from: from, next: 1}
		err := p.records(ctx, 0, r.end.seq, yield)
		if err == nil && p.next != r.end.next {
			err = fmt.Errorf("%w: %d records, and there were %d", journal.ErrCorrupt, p.next-1, r.end.next-1)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(journal.Record{}, r.errorf("%w", err))
		}
	}
}

// journalPass is a pass over the records of a log.
type journalPass struct {
	journalPlace
	from int64 // the first record to yield
	next int64 // number of the next record
}

// errStop says that no more records are wanted.
var errStop = errors.New("no more records are wanted")

// records yields what the messages after one sequence, up to another, have. It returns errStop if
// yield wants no more.
func (p *journalPass) records(ctx context.Context, after, upTo uint64, yield func(journal.Record, error) bool) error {
	for at := after; at < upTo; {
		m, err := p.following(ctx, at)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return errGone
		case err != nil:
			return err
		case m.Sequence > upTo, at > 0 && follows(m, 0): // it is of a log that was made anew
			return errGone
		case !follows(m, at):
			return fmt.Errorf("%w: there is no message %s after number %d", journal.ErrCorrupt, m.Subject, at)
		}
		if err := p.message(ctx, m, yield); err != nil {
			return err
		}
		at = m.Sequence
	}
	return nil
}

// errGone says that messages were removed.
var errGone = fmt.Errorf("the log was removed: %w", fs.ErrNotExist)

// following returns the first message of the log after a sequence. It is read from the leader of
// the stream, which has what was acknowledged.
func (p journalPlace) following(ctx context.Context, seq uint64) (*storedMessage, error) {
	return retry(ctx, p.records.account, makeTime, func(ctx context.Context) (*storedMessage, error) {
		return p.records.stream.GetMsg(ctx, seq+1, jetstream.WithGetMsgSubject(p.subject(recordsSubject)))
	})
}

// message yields the records of a message.
func (p *journalPass) message(ctx context.Context, m *storedMessage,
	yield func(journal.Record, error) bool) (err error) {
	first, count := number(m, headerFirst), number(m, headerCount)
	if first != p.next || count < 0 {
		return fmt.Errorf("%w: record %d follows record %d", journal.ErrCorrupt, first, p.next-1)
	}
	if p.next+count <= p.from {
		p.next += count
		return nil
	}
	var data io.Reader = bytes.NewReader(m.Data)
	if hash := m.Header.Get(headerBody); hash != "" {
		body, err := p.blob(ctx, linesKind, hash)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: the lines of records %d to %d are missing", journal.ErrCorrupt, first, first+count-1)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, body.Close()) }()
		data = body
	}
	return p.lines(ctx, bufio.NewReader(data), count, yield)
}

// lines yields the records of count lines.
func (p *journalPass) lines(ctx context.Context, in *bufio.Reader, count int64,
	yield func(journal.Record, error) bool) error {
	for range count {
		if err := ctx.Err(); err != nil {
			return err
		}
		text, err := in.ReadBytes('\n')
		if err == io.EOF {
			err = fmt.Errorf("%w: record %d is missing", journal.ErrCorrupt, p.next)
		}
		if err != nil {
			return err
		}
		r, _, err := journal.ParseLine(text)
		if err != nil {
			return err
		}
		if r.N != p.next {
			return fmt.Errorf("%w: record %d is in the place of record %d", journal.ErrCorrupt, r.N, p.next)
		}
		if p.next++; r.N >= p.from && !yield(r, nil) {
			return errStop
		}
	}
	return nil
}

// Fork implements [journal.Store].
func (j *journals) Fork(ctx context.Context, from, to string, n int64,
	edit func(*journal.Record) error) (journal.Log, error) {
	target, err := j.find(ctx, to)
	if err != nil {
		return nil, err
	}
	source, err := j.find(ctx, from)
	if err != nil {
		return nil, err
	}
	r, err := source.read(ctx)
	if err != nil {
		return nil, err
	}
	if n < 1 || n > r.Len() {
		return nil, source.errorf("cannot copy %d records of %d: %w", n, r.Len(), fs.ErrInvalid)
	}
	if _, err := target.read(ctx); !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(err, target.errorf("%w", fs.ErrExist))
	}
	l, err := target.copyLines(ctx, r, n, edit)
	if err == nil {
		err = target.copyBlobs(ctx, source)
	}
	if err != nil {
		return nil, err
	}
	return target.begin(ctx, l)
}

// copyLines returns the first n lines of another log, edited. They become the first message of this
// log, so that it has all or none.
func (p journalPlace) copyLines(ctx context.Context, source *journalReader, n int64,
	edit func(*journal.Record) error) (journalLines, error) {
	records := make([]journal.Record, 0, n)
	for r, err := range source.Records(ctx, 1) {
		if err == nil && edit != nil {
			err = edit(&r)
		}
		if err != nil {
			return journalLines{}, err
		}
		if records = append(records, r); int64(len(records)) == n {
			break
		}
	}
	l, err := linesOf(1, records)
	if err != nil {
		return l, err
	}
	return p.fitting(ctx, l)
}
