package natsfleet

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/journal"
)

// patterned returns n bytes that do not repeat soon.
func patterned(n int64) io.Reader { return io.LimitReader(new(pattern), n) }

type pattern struct{ state uint32 }

func (p *pattern) Read(b []byte) (int, error) {
	for i := range b {
		p.state = p.state*1664525 + 1013904223
		b[i] = byte(p.state >> 24)
	}
	return len(b), nil
}

// smallMessages starts a server on which a message has at most 16 KiB.
func smallMessages(t *testing.T) *journalServer {
	t.Helper()
	return startJournalServer(t, &server.Options{DontListen: true, StoreDir: t.TempDir(), MaxPayload: 16 << 10})
}

func blobOf(r journal.Reader, hash string) ([]byte, error) {
	b, err := r.Blob(context.Background(), hash)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(b)
	return data, errors.Join(err, b.Close())
}

func TestP4_BlobsOfAllSizes(t *testing.T) {
	t.Parallel()
	j := journalsOf(t, smallMessages(t).connect())
	l := mustCreate(t, j, "s", "a")
	room := int64(j.room())
	for _, size := range []int64{0, 1, room - 1, room, room + 1, 2 * room, 2*room + 1, 1 << 20} {
		hash, err := l.PutBlob(t.Context(), patterned(size))
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(patterned(size))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := blobOf(l, hash); err != nil || !bytes.Equal(got, want) {
			t.Errorf("a blob of %d bytes comes back with %d: %v", size, len(got), err)
		}
	}
}

// A blob that was not put to its end does not exist, and leaves nothing.
func TestP4_BlobsAreWholeOrAbsent(t *testing.T) {
	t.Parallel()
	j := journalsOf(t, smallMessages(t).connect())
	l := mustCreate(t, j, "s", "a")
	broken := errors.New("broken")
	if _, err := l.PutBlob(t.Context(), io.MultiReader(patterned(100_000), &failing{broken})); !errors.Is(err, broken) {
		t.Errorf("PutBlob of broken data = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := l.PutBlob(ctx, io.MultiReader(patterned(100_000), &ending{cancel},
		patterned(100_000))); !errors.Is(err, context.Canceled) {
		t.Errorf("PutBlob at the end of its context = %v", err)
	}
	p, err := j.find(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if left, err := p.blobs.Keys(t.Context(), ">"); err != nil || len(left) > 0 {
		t.Errorf("it leaves %q, %v", left, err)
	}
	hash, err := l.PutBlob(t.Context(), patterned(100_000))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.PutBlob(t.Context(), patterned(100_000)); err != nil || again != hash {
		t.Errorf("PutBlob of the same = %s, %v", again, err)
	}
	if kept, err := p.blobs.Keys(t.Context(), ">"); err != nil || len(kept) != 2 {
		t.Errorf("a blob that was put twice is kept as %q, %v", kept, err)
	}
	if err := j.Remove(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if left, err := p.blobs.Keys(t.Context(), ">"); err != nil || len(left) > 0 {
		t.Errorf("a removed log leaves %q, %v", left, err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

type ending struct{ end func() }

func (e *ending) Read([]byte) (int, error) { e.end(); return 0, io.EOF }

func TestP4_DamagedBlobs(t *testing.T) {
	t.Parallel()
	a := smallMessages(t).connect()
	j := journalsOf(t, a)
	l := mustCreate(t, j, "s", "a")
	p, err := j.find(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	small := hex.EncodeToString(bytes.Repeat([]byte{1}, 32))
	if err := a.nc.Publish(p.blobSubject(blobKind)+"."+small, []byte("something else")); err != nil {
		t.Fatal(err)
	}
	large, err := l.PutBlob(t.Context(), patterned(100_000))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := p.blobs.Keys(t.Context(), p.blobSubject(partsKind)+".*")
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	last, err := p.blobs.Get(t.Context(), parts[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.blobs.removeUpTo(t.Context(), parts[0], last.Seq-1); err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{small, large} {
		if data, err := blobOf(l, hash); !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("a damaged blob gives %d bytes, %v, want ErrCorrupt", len(data), err)
		}
	}
}

// Records that are longer than a message may be are appended all or none, too, and are no blobs
// that anybody else knows.
func TestP4_LargeAppends(t *testing.T) {
	t.Parallel()
	j := journalsOf(t, smallMessages(t).connect())
	l := mustCreate(t, j, "s")
	var want []journal.Record
	for i := range 30 {
		size := []int{0, 5_000, 12_000, 20_000, 300_000}[i%5]
		batch := []journal.Record{{Kind: "x", Data: json.RawMessage(`"` + strings.Repeat("y", size) + `"`)},
			entry(fmt.Sprint(i))}
		if err := l.Append(t.Context(), l.Len()+1, batch...); err != nil {
			t.Fatal(err)
		}
		want = append(want, batch...)
	}
	fork, err := j.Fork(t.Context(), "s", "t", 59, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(t.Context(), 61, entry(strings.Repeat("k", 100_000))); err != nil {
		t.Error(err)
	}
	for name, log := range map[string]journal.Log{"s": l, "t": fork} {
		i := 0
		for r, err := range log.Records(t.Context(), 1) {
			if err != nil {
				t.Fatal(name, err)
			}
			if i < len(want) && (r.Kind != want[i].Kind || !bytes.Equal(r.Data, want[i].Data)) {
				t.Fatalf("%s: record %d differs", name, i+1)
			}
			i++
		}
		if wanted := map[string]int{"s": 61, "t": 59}[name]; i != wanted {
			t.Errorf("%s has %d records, want %d", name, i, wanted)
		}
	}
	list, err := j.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Size < 6*300_000 || list[1].Size < 6*300_000 {
		t.Errorf("List = %+v, %v", list, err)
	}
	if err := j.Remove(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	if err := fork.Append(t.Context(), 60, entry("own")); err != nil {
		t.Error(err)
	}
	for _, err := range fork.Records(t.Context(), 1) {
		if err != nil {
			t.Fatalf("the fork without its source: %v", err)
		}
	}
}

// Whoever writes into the account past this package cannot make readers take it for the log.
func TestP4_DamagedLogs(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, p journalPlace, end journalEnd){
		"a message of somebody else": func(t *testing.T, p journalPlace, end journalEnd) {
			publishRaw(t, p, nats.Header{}, "junk")
		},
		"a line that is not what was written": func(t *testing.T, p journalPlace, end journalEnd) {
			publishRaw(t, p, headers(end, 1), `{"c":"00000000","n":3,"t":"2026-01-01T00:00:00Z","k":"x"}`+"\n")
		},
		"a line with another number": func(t *testing.T, p journalPlace, end journalEnd) {
			line, err := journal.AppendLine(nil, journal.Record{N: 7, Kind: "x"}, false)
			if err != nil {
				t.Fatal(err)
			}
			publishRaw(t, p, headers(end, 1), string(line))
		},
		"fewer lines than it says": func(t *testing.T, p journalPlace, end journalEnd) {
			publishRaw(t, p, headers(end, 2), "")
		},
		"a negative count": func(t *testing.T, p journalPlace, end journalEnd) {
			publishRaw(t, p, headers(end, -2), "")
		},
		"lines that are not there": func(t *testing.T, p journalPlace, end journalEnd) {
			h := headers(end, 1)
			h.Set(headerBody, strings.Repeat("0", 64))
			publishRaw(t, p, h, "")
		},
		"no beginning": func(t *testing.T, p journalPlace, end journalEnd) {
			if err := p.records.removeUpTo(t.Context(), p.subject(recordsSubject), end.seq-1); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := journalsOf(t, oneServer(t).connect())
			l := mustCreate(t, j, "s", "a", "b")
			damage(t, l.(*journalWriter).journalPlace, l.(*journalWriter).end)
			for what, err := range map[string]error{"Records": recordsError(t, j), "Follow": followError(j)} {
				if !errors.Is(err, journal.ErrCorrupt) {
					t.Errorf("%s = %v, want ErrCorrupt", what, err)
				}
			}
		})
	}
}

func headers(end journalEnd, count int) nats.Header {
	return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {fmt.Sprint(end.seq)}, headerFirst: {fmt.Sprint(end.next)},
		headerCount: {fmt.Sprint(count)}}
}

func publishRaw(t *testing.T, p journalPlace, h nats.Header, data string) {
	t.Helper()
	if _, err := p.j.js.PublishMsg(t.Context(), &nats.Msg{Subject: p.subject(recordsSubject), Header: h,
		Data: []byte(data)}); err != nil {
		t.Fatal(err)
	}
}

func recordsError(t *testing.T, j *journals) error {
	t.Helper()
	r, err := j.Read(t.Context(), "s")
	if err != nil {
		return err
	}
	for _, err = range r.Records(t.Context(), 1) {
	}
	return err
}

func followError(j *journals) error {
	for _, err := range j.Follow(context.Background(), "s", 1) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestP9_HostileNamesOfBlobs(t *testing.T) {
	t.Parallel()
	j := journalsOf(t, oneServer(t).connect())
	l := mustCreate(t, j, "s", "a")
	other := mustCreate(t, j, "other", "a")
	if _, err := l.PutBlob(t.Context(), strings.NewReader("own")); err != nil {
		t.Fatal(err)
	}
	hash, err := other.PutBlob(t.Context(), strings.NewReader("secret"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{hash, "*", ">", "../other/" + hash, strings.ToUpper(hash), hash + ".x", "",
		strings.Repeat("*", 64), hash[:63] + ">"} {
		if data, err := blobOf(l, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Blob(%q) = %q, %v, want fs.ErrNotExist", name, data, err)
		}
	}
}
