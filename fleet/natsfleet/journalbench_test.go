package natsfleet

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/attractor-go/attractor/journal"
)

// BenchmarkP8_Append makes a record of 1 KB durable: in a file with a sync, on a server in this
// process that syncs, and on three of them.
func BenchmarkP8_Append(b *testing.B) {
	r := entry("result")
	r.Data = json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)
	one := func(b *testing.B, s journal.Store) {
		l, err := s.Create(b.Context(), "s")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := errors.Join(l.Append(b.Context(), l.Len()+1, r), l.Sync(b.Context())); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("dir", func(b *testing.B) { one(b, journal.NewDir(b.TempDir())) })
	b.Run("stream", func(b *testing.B) {
		one(b, journalsOf(b, startJournalServer(b, &server.Options{DontListen: true, StoreDir: b.TempDir()}).connect()))
	})
	b.Run("three_replicas", func(b *testing.B) {
		one(b, journalsOf(b, connectJournals(b, threeServers(b, 0)[0].ClientURL(), 3)))
	})
}

// BenchmarkP8_Read reads a log of 10,000 appends.
func BenchmarkP8_Read(b *testing.B) {
	s := startJournalServer(b, &server.Options{DontListen: true, StoreDir: b.TempDir(), SyncInterval: noSync})
	j := journalsOf(b, s.connect())
	l := mustCreate(b, j, "s")
	for range 10_000 {
		mustAppend(b, l, "x")
	}
	for b.Loop() {
		for _, err := range l.Records(b.Context(), 1) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
