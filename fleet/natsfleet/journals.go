package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

// Subjects of journals, each followed by the number of a shard and the id of a log.
const (
	recordsSubject = "journal"      // the chain of a log: a message for each Append and each Open
	blobsSubject   = "journal-blob" // what is beside the records
	newsSubject    = "journal-news" // headers of each message of a log, for those who listen; nothing is kept
)

// journals implements [journal.Store] with a subject for each log.
//
// A message holds the lines of one Append, in the form of [journal.AppendLine], or nothing if it
// was made by Open to fence off the writers before. Lines that are longer than a message may be are
// kept as a blob, which the message names.
type journals struct {
	*account
	shards []journalShard
}

// journalShard holds some of the logs.
type journalShard struct {
	number  int
	records *records
	blobs   *contents
}

// newJournals returns the journals of a tenant, and makes their streams if they are not there.
func newJournals(ctx context.Context, a *account) (*journals, error) {
	j := &journals{account: a}
	for n, shards := 0, 1; n < shards; n++ {
		s, err := a.stream(ctx, jetstream.StreamConfig{
			Name: "journal-" + strconv.Itoa(n), Description: "sessions: a subject a session, a message an append",
			Subjects: []string{shardSubject(recordsSubject, n) + ".>"}, DenyDelete: true,
			RePublish: &jetstream.RePublish{Source: shardSubject(recordsSubject, n) + ".>",
				Destination: shardSubject(newsSubject, n) + ".>", HeadersOnly: true},
		})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			// The number of shards says where a log is, so it stays as it was when the first stream
			// was made.
			if shards, err = strconv.Atoi(s.CachedInfo().Config.Metadata[shardsKey]); err != nil {
				return nil, fmt.Errorf("the number of shards: %w", err)
			}
		}
		blobs, err := a.stream(ctx, jetstream.StreamConfig{Name: "journal-blobs-" + strconv.Itoa(n),
			Description: "what is beside the records of sessions", DenyDelete: true,
			Subjects: []string{shardSubject(blobsSubject, n) + ".>"}})
		if err != nil {
			return nil, err
		}
		j.shards = append(j.shards, journalShard{n, &records{a, s}, &contents{&records{a, blobs}}})
	}
	return j, nil
}

// shardsKey names the number of shards in the metadata of a stream.
const shardsKey = "attractor-shards"

func shardSubject(subject string, n int) string { return subject + "." + strconv.Itoa(n) }

// journalPlace is the place of a log: its shard and its id.
type journalPlace struct {
	journalShard
	j  *journals
	id string
}

// find returns the place of a log, whether it is there or not.
func (j *journals) find(ctx context.Context, id string) (journalPlace, error) {
	if err := errors.Join(ctx.Err(), journal.CheckID(id)); err != nil {
		return journalPlace{}, err
	}
	h := fnv.New32a()
	h.Write([]byte(id)) // it never fails
	return journalPlace{journalShard: j.shards[h.Sum32()%uint32(len(j.shards))], j: j, id: id}, nil
}

func (p journalPlace) subject(of string) string {
	return shardSubject(of, p.number) + "." + engine.Token(p.id)
}

// errorf returns an error that names the log.
func (p journalPlace) errorf(format string, args ...any) error {
	return fmt.Errorf("journal: session %s: %w", p.id, fmt.Errorf(format, args...))
}

// last returns the last message of the log. The error wraps fs.ErrNotExist if there is no log.
func (p journalPlace) last(ctx context.Context) (*storedMessage, error) {
	m, err := retry(ctx, p.records.account, makeTime, func(ctx context.Context) (*storedMessage, error) {
		return p.records.stream.GetLastMsgForSubject(ctx, p.subject(recordsSubject))
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, p.errorf("%w", err)
	}
	return m, nil
}

// Create implements [journal.Store].
func (j *journals) Create(ctx context.Context, id string) (journal.Log, error) {
	p, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return p.begin(ctx, journalLines{first: 1})
}

// begin creates the log with its first message, and opens it.
func (p journalPlace) begin(ctx context.Context, l journalLines) (journal.Log, error) {
	w := newJournalWriter(p, journalEnd{})
	err := w.publish(ctx, l)
	if errors.Is(err, engine.ErrChanged) {
		err = fs.ErrExist
	}
	if err != nil {
		return nil, p.errorf("%w", err)
	}
	return w, nil
}

// Open implements [journal.Store]. It fences off the writers before: their next message would have
// to follow one that is not the last any more.
func (j *journals) Open(ctx context.Context, id string) (journal.Log, error) {
	p, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	for {
		r, err := p.read(ctx)
		if err != nil {
			return nil, err
		}
		w := newJournalWriter(p, r.end)
		err = w.publish(ctx, journalLines{first: r.end.next})
		if errors.Is(err, engine.ErrChanged) {
			continue // the writer before has appended meanwhile
		}
		if err != nil {
			return nil, p.errorf("%w", err)
		}
		return w, nil
	}
}

// Read implements [journal.Store].
func (j *journals) Read(ctx context.Context, id string) (journal.Reader, error) {
	p, err := j.find(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := p.read(ctx)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// read returns a reader of the log as it is now.
func (p journalPlace) read(ctx context.Context) (*journalReader, error) {
	m, err := p.last(ctx)
	if err != nil {
		return nil, err
	}
	end, err := endOf(m)
	if err != nil {
		return nil, p.errorf("%w", err)
	}
	return &journalReader{journalPlace: p, end: end}, nil
}

// List implements [journal.Store]. It reads the last message of each log.
func (j *journals) List(ctx context.Context) ([]journal.Entry, error) {
	var entries []journal.Entry
	for _, s := range j.shards {
		prefix := shardSubject(recordsSubject, s.number) + "."
		subjects, err := s.records.Keys(ctx, prefix+">")
		if err != nil {
			return nil, fmt.Errorf("journal: cannot list sessions: %w", err)
		}
		for group := range slices.Chunk(subjects, listAtOnce) {
			found, errs := make([]*storedMessage, len(group)), make([]error, len(group))
			each(len(group), func(i int) {
				place := journalPlace{s, j, engine.TokenID(strings.TrimPrefix(group[i], prefix))}
				found[i], errs[i] = place.last(ctx)
			})
			for i, m := range found {
				if errors.Is(errs[i], fs.ErrNotExist) { // removed meanwhile
					continue
				}
				if errs[i] != nil {
					return nil, errs[i]
				}
				if end, err := endOf(m); err != nil || end.next > 1 {
					id := engine.TokenID(strings.TrimPrefix(m.Subject, prefix))
					entries = append(entries, journal.Entry{ID: id, Size: end.size, Modified: m.Time})
				}
			}
		}
	}
	slices.SortFunc(entries, func(a, b journal.Entry) int { return cmp.Compare(a.ID, b.ID) })
	return entries, nil
}

// listAtOnce bounds the logs whose last messages are read at a time.
const listAtOnce = 64

// Remove implements [journal.Store]. The blobs go first, so that what an interruption leaves is
// still a log, which can be removed again.
func (j *journals) Remove(ctx context.Context, ids ...string) error {
	var failures []error
	for _, id := range ids {
		failures = append(failures, j.remove(ctx, id))
	}
	return errors.Join(failures...)
}

func (j *journals) remove(ctx context.Context, id string) error {
	p, err := j.find(ctx, id)
	if err != nil {
		return err
	}
	for {
		m, err := p.last(ctx)
		if err != nil {
			return err
		}
		err = p.blobs.Remove(ctx, p.subject(blobsSubject)+".>")
		if err == nil { // a log that somebody makes anew meanwhile has other messages
			err = p.records.removeUpTo(ctx, p.subject(recordsSubject), m.Sequence)
		}
		if err != nil {
			return p.errorf("%w", err)
		}
		p.tell()
		left, err := p.last(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || follows(left, 0) {
			return err
		}
	}
}

// tell wakes those who follow the log.
func (p journalPlace) tell() {
	_ = p.j.nc.PublishMsg(&nats.Msg{Subject: p.subject(newsSubject)}) // they look from time to time, too
}

// Follow implements [journal.Store]. It needs no consumer on the server: the server announces each
// message, and the follower reads it as any other reader does.
func (j *journals) Follow(ctx context.Context, id string, from int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		p, err := j.find(ctx, id)
		if err == nil {
			err = p.follow(ctx, from, yield)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(journal.Record{}, err)
		}
	}
}

// follow yields records until ctx ends or an error occurs. It returns errStop if yield wants no
// more.
func (p journalPlace) follow(ctx context.Context, from int64, yield func(journal.Record, error) bool) error {
	records := journalPass{journalPlace: p, from: from, next: 1}
	at := uint64(0)
	for err := range p.j.Changes(ctx, p.subject(newsSubject)) {
		if err != nil {
			return p.errorf("%w", err)
		}
		m, err := p.last(ctx)
		if err != nil {
			return err
		}
		if m.Sequence == at {
			continue
		}
		if follows(m, at) {
			err = records.message(ctx, m, yield)
		} else {
			err = records.records(ctx, at, m.Sequence, yield)
		}
		if err != nil {
			return p.errorf("%w", err)
		}
		at = m.Sequence
	}
	return ctx.Err()
}
