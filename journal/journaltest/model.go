package journaltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/journal"
)

// model runs random sequences of calls on a log and on a [journal.Memory], and compares the
// results.
func model(t *testing.T, fresh func() Open) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{open: fresh(), want: new(journal.Memory)}
		m.reopen(rt)
		defer func() {
			if err := m.got.Close(); err != nil {
				rt.Errorf("Close = %v", err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"append":   m.append,
			"conflict": m.conflict,
			"bad":      m.bad,
			"read":     m.read,
			"blob":     m.blob,
			"sync":     m.sync,
			"reopen": func(rt *rapid.T) {
				if err := m.got.Close(); err != nil {
					rt.Fatalf("Close = %v", err)
				}
				m.reopen(rt)
			},
			"": m.check,
		})
	})
}

// machine holds a log and the model that it has to equal.
type machine struct {
	open   Open
	got    journal.Log
	want   *journal.Memory
	hashes []string
}

func (m *machine) reopen(rt *rapid.T) {
	var err error
	if m.got, err = m.open(); err != nil {
		rt.Fatalf("open = %v", err)
	}
}

func (m *machine) both(rt *rapid.T, next int64, records []journal.Record) {
	got := m.got.Append(context.Background(), next, slices.Clone(records)...)
	want := m.want.Append(context.Background(), next, records...)
	if (got == nil) != (want == nil) || errors.Is(got, journal.ErrConflict) != errors.Is(want, journal.ErrConflict) {
		rt.Fatalf("Append(%d, %d records) = %v, want %v", next, len(records), got, want)
	}
}

func (m *machine) append(rt *rapid.T) {
	m.both(rt, m.want.Len()+1, rapid.SliceOfN(records(), 0, 5).Draw(rt, "records"))
}

func (m *machine) conflict(rt *rapid.T) {
	m.both(rt, rapid.Int64Range(-1, m.want.Len()+3).Draw(rt, "next"),
		rapid.SliceOfN(records(), 0, 2).Draw(rt, "records"))
}

func (m *machine) bad(rt *rapid.T) {
	batch := rapid.SliceOfN(records(), 1, 3).Draw(rt, "records")
	batch[len(batch)-1].Data = json.RawMessage(rapid.SampledFrom([]string{"", "{", "{}{}", `1,"n":7`, "\n", "nul",
		`"` + "\n" + `"`}).Draw(rt, "data"))
	m.both(rt, m.want.Len()+1, batch)
}

func (m *machine) read(rt *rapid.T) {
	from := rapid.Int64Range(-1, m.want.Len()+2).Draw(rt, "from")
	var got, want []journal.Record
	for r, err := range m.got.Records(context.Background(), from) {
		if err != nil {
			rt.Fatalf("Records(%d): %v", from, err)
		}
		got = append(got, r)
	}
	for r := range m.want.Records(context.Background(), from) {
		want = append(want, r)
	}
	if !slices.EqualFunc(want, got, same) { // cmp alone would take long for bytes
		rt.Fatalf("Records(%d) -want +got:\n%s", from, cmp.Diff(want, got))
	}
}

func same(a, b journal.Record) bool {
	return a.N == b.N && a.Time.Equal(b.Time) && a.Kind == b.Kind && bytes.Equal(a.Data, b.Data)
}

func (m *machine) blob(rt *rapid.T) {
	data := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(rt, "data")
	want, _ := m.want.PutBlob(context.Background(), bytes.NewReader(data))
	if got, err := m.got.PutBlob(context.Background(), bytes.NewReader(data)); err != nil || got != want {
		rt.Fatalf("PutBlob = %s, %v, want %s", got, err, want)
	}
	m.hashes = append(m.hashes, want)
	hash := rapid.SampledFrom(append(m.hashes, "", "none", "../x", want+"0", strings.Repeat("0", 64))).Draw(rt, "hash")
	wanted, wantErr := blob(m.want, hash)
	got, err := blob(m.got, hash)
	if got != wanted || errors.Is(err, fs.ErrNotExist) != (wantErr != nil) {
		rt.Fatalf("Blob(%s) = %q, %v, want %q, %v", hash, got, err, wanted, wantErr)
	}
}

func (m *machine) sync(rt *rapid.T) {
	if err := m.got.Sync(context.Background()); err != nil {
		rt.Fatalf("Sync = %v", err)
	}
}

func (m *machine) check(rt *rapid.T) {
	if m.got.Len() != m.want.Len() {
		rt.Fatalf("Len = %d, want %d", m.got.Len(), m.want.Len())
	}
}

func records() *rapid.Generator[journal.Record] {
	return rapid.Custom(func(rt *rapid.T) journal.Record {
		r := journal.Record{
			Time: time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "time"),
				rapid.Int64Range(0, 1e9-1).Draw(rt, "ns")).UTC(),
			Kind: rapid.SampledFrom([]string{"input", "result", "", "é\n"}).Draw(rt, "kind"),
		}
		switch rapid.IntRange(0, 15).Draw(rt, "data") {
		case 0: // none
		case 1, 2, 3, 4, 5, 6, 7, 8:
			r.Data = json.RawMessage(`{"more":true,"text":"` + strings.Repeat("x", rapid.IntRange(0, 200).Draw(rt,
				"length")) + `"}`)
		case 9: // longer than any buffer on the way
			r.Data = json.RawMessage(`"` + strings.Repeat("\\n", rapid.IntRange(0, 100_000).Draw(rt, "length")) + `"`)
		default:
			r.Data, _ = json.Marshal(rapid.String().Draw(rt, "text"))
		}
		return r
	})
}
