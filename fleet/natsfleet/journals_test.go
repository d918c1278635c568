package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/journal/journaltest"
)

// freshJournals returns a function that makes an empty store on a server of its own.
func freshJournals() func(t *testing.T) journal.Store {
	return func(t *testing.T) journal.Store {
		server := oneServer(t)
		return journalsOf(t, server.connect())
	}
}

func TestP4_JournalsAreAStore(t *testing.T) {
	t.Parallel()
	journaltest.StoreSuite(t, freshJournals())
}

func TestP4_JournalsAreLogs(t *testing.T) {
	t.Parallel()
	j, made := journalsOf(t, oneServer(t).connect()), 0
	journaltest.Suite(t, func() journaltest.Open {
		made++
		id := fmt.Sprint("log-", made)
		return openOrCreate(j, id)
	})
}

func openOrCreate(j *journals, id string) journaltest.Open {
	return func() (journal.Log, error) {
		l, err := j.Open(context.Background(), id)
		if errors.Is(err, fs.ErrNotExist) {
			return j.Create(context.Background(), id)
		}
		return l, err
	}
}

func TestP4_JournalsAreAStoreOnThreeReplicas(t *testing.T) {
	t.Parallel()
	a := connectJournals(t, threeServers(t, noSync)[0].ClientURL(), 3)
	journaltest.StoreSuite(t, func(t *testing.T) journal.Store {
		for name := range a.js.StreamNames(t.Context()).Name() {
			if err := a.js.DeleteStream(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		return journalsOf(t, a)
	})
}

// TestP7_MoreReplicas has a fleet whose configuration says later that each record is kept three
// times.
func TestP7_MoreReplicas(t *testing.T) {
	t.Parallel()
	url := threeServers(t, noSync)[0].ClientURL()
	mustCreate(t, journalsOf(t, connectJournals(t, url, 1)), "s", "x")
	a := connectJournals(t, url, 3)
	j := journalsOf(t, a)
	for _, s := range j.shards {
		for _, stream := range []jetstream.Stream{s.records.stream, s.blobs.stream} {
			if n := stream.CachedInfo().Config.Replicas; n != 3 {
				t.Errorf("%s: %d replicas", stream.CachedInfo().Config.Name, n)
			}
		}
	}
	if r, err := j.Read(t.Context(), "s"); err != nil || r.Len() != 1 {
		t.Errorf("the journal: %v", err)
	}
}

// A second attempt to write a message whose first one is still under way passes.
func TestP7_AnAttemptIsUnderWay(t *testing.T) {
	err := fmt.Errorf("publish: %w", &jetstream.APIError{Code: 409, ErrorCode: codeInProcess})
	if !mayPass(err) {
		t.Errorf("%v: it may pass", err)
	}
}
