package natsfleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"github.com/attractor-go/attractor/journal"
)

// Headers of the messages of a log, beside those of a chain.
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
	turn  chan struct{} // holds one element while something is appended, which may take long
	doubt *publication  // the last Append, if its outcome is unknown; guarded by turn

	mu     sync.Mutex // never held during a request; it guards what follows
	end    journalEnd
	closed bool
	failed error // what every further Append returns
}

func newJournalWriter(p journalPlace, end journalEnd) *journalWriter {
	return &journalWriter{journalPlace: p, turn: make(chan struct{}, 1), end: end}
}

// publication identifies a message.
type publication struct {
	id   string
	next int64
	sum  [sha256.Size]byte // of its lines
}

// Append implements [journal.Log]. If its error says that the outcome is unknown, the same Append
// may be made again, and appends once.
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
		return w.check(ctx, end)
	}
	l, err := linesOf(next, records)
	if err != nil {
		return err
	}
	p := publication{id: nuid.Next(), next: next, sum: sha256.Sum256(l.data)}
	if d := w.doubt; d != nil && d.next == p.next && d.sum == p.sum {
		p.id = d.id
	}
	if l, err = w.fitting(ctx, l); err != nil {
		return w.errorf("cannot append: %w", err)
	}
	return w.appended(p, w.publish(ctx, p.id, l))
}

// fitting returns lines that fit into a message. It stores lines that do not fit as a blob.
func (p journalPlace) fitting(ctx context.Context, l journalLines) (_ journalLines, err error) {
	if len(l.data) > p.j.room() {
		l.blob, err = p.putBlob(ctx, linesKind, bytes.NewReader(l.data))
		l.data = nil
	}
	return l, err
}

// appended takes note of the outcome of an Append, and returns its error.
func (w *journalWriter) appended(p publication, err error) error {
	var taken *takenError
	switch {
	case err == nil:
		w.doubt = nil
		return nil
	case errors.As(err, &taken) && w.doubt != nil && taken.by.Header.Get(headerID) == w.doubt.id:
		w.doubt = nil
		end, err := endOf(taken.by)
		if err != nil {
			return w.fail(w.errorf("%w", err))
		}
		w.move(end)
		return fmt.Errorf("%w: session %s: an Append whose outcome was unknown has appended", journal.ErrConflict, w.id)
	case errors.As(err, &taken):
		return w.fail(fmt.Errorf("%w: session %s was taken over", journal.ErrConflict, w.id))
	case errors.Is(err, errGone):
		return w.fail(w.errorf("%w", err))
	case errors.Is(err, errUnknown):
		w.doubt = &p
	}
	return w.errorf("cannot append: %w", err)
}

// usable returns the end of the log, or an error if nothing can be appended any more.
func (w *journalWriter) usable() (journalEnd, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return w.end, w.errorf("%w", fs.ErrClosed)
	}
	return w.end, w.failed
}

// fail makes every further Append return err, which it returns, too.
func (w *journalWriter) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = err
	return err
}

// check returns an error if another writer has taken the log over.
func (w *journalWriter) check(ctx context.Context, end journalEnd) error {
	m, err := w.chain().last(ctx)
	switch {
	case err != nil:
		return w.errorf("%w", err)
	case m == nil:
		return w.appended(publication{}, errGone)
	case m.Sequence != end.seq:
		return w.appended(publication{}, &takenError{by: m})
	}
	return nil
}

// publish adds a message to the log and moves its end. The caller holds turn, or nobody else has
// the writer yet.
func (w *journalWriter) publish(ctx context.Context, id string, l journalLines) error {
	end := w.now().end
	after := journalEnd{next: l.first + l.count, size: end.size + l.size}
	header := nats.Header{headerFirst: {strconv.FormatInt(l.first, 10)}, headerCount: {strconv.FormatInt(l.count, 10)},
		headerSize: {strconv.FormatInt(after.size, 10)}}
	if l.blob != "" {
		header.Set(headerBody, l.blob)
	}
	var err error
	if after.seq, err = w.chain().publish(ctx, id, end.seq, header, l.data); err != nil {
		return err
	}
	w.move(after)
	return nil
}

func (w *journalWriter) move(to journalEnd) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end = to
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
	for m, err := range p.chain().read(ctx, after, upTo) {
		if err == nil {
			err = p.message(ctx, m, yield)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
func (j *journals) Fork(ctx context.Context, from, to string, n int64, edit func(*journal.Record) error) (journal.Log,
	error) {
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
	w, err := target.begin(ctx, l)
	if err != nil {
		return nil, err
	}
	return w, nil
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
