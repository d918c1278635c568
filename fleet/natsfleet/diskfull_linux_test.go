package natsfleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sys/unix"

	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/journal"
)

// smallDisk mounts a file system of a few megabytes.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		peer.Missing(t, "a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A disk that others fill stops the server's streams, until it is restarted with space. Nothing is
// acknowledged that is not there then.
func TestP7_DiskFull(t *testing.T) {
	t.Parallel()
	dir := smallDisk(t, 64)
	c := testConfig(t)
	c.Store = filepath.Join(dir, "store")
	s, err := StartServer(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := appendUntilFull(t, s, dir)
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	if err := await.Receive(t, "the end of a server without space", closed); err != nil {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "filler")); err != nil {
		t.Fatal(err)
	}
	space, err := serve(t, c).own.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	log, err := space.Journals.Open(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// one may have been written without an acknowledgement
	if n := log.Len(); n != acknowledged && n != acknowledged+1 {
		t.Errorf("%d records, and %d were acknowledged", n, acknowledged)
	}
	if all, err := collect(log.Records(t.Context(), 1)); err != nil || int64(len(all)) != log.Len() {
		t.Errorf("%d records, %v", len(all), err)
	}
	if err := log.Append(t.Context(), log.Len()+1, journal.Record{Kind: "k"}); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// appendUntilFull fills a disk but for some megabytes, appends until nothing more fits, and returns
// the number of acknowledged records.
func appendUntilFull(t *testing.T, s *Server, dir string) (n int64) {
	t.Helper()
	space, err := s.own.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	log, err := space.Journals.Create(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, int64(disk.Bavail)*disk.Bsize-4<<20),
		0o600); err != nil {
		t.Fatal(err)
	}
	record := journal.Record{Kind: "k", Data: []byte(`"` + strings.Repeat("x", 100_000) + `"`)}
	for ; n < 1000; n++ {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		err := log.Append(ctx, n+1, record)
		if cancel(); err != nil {
			t.Logf("after %d records: %v", n, err)
			return n
		}
	}
	t.Fatal("the disk is never full")
	return n
}

// A server keeps to its own limit, says so, and goes on when there is space again.
func TestP7_StoreFull(t *testing.T) {
	t.Parallel()
	c := testConfig(t)
	c.MaxStore = 8 << 20
	s := serve(t, c)
	space, err := s.own.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	o, n := space.Objects, 0
	for ; err == nil && n < 100; n++ {
		_, err = o.Put(t.Context(), fmt.Sprint(n), bytes.NewReader(randomBytes(maxPiece)))
	}
	if api := (*jetstream.APIError)(nil); !errors.As(err, &api) || n < 10 || !strings.Contains(err.Error(),
		"insufficient") {
		t.Fatalf("after %d: %v", n, err)
	}
	for i := range n - 1 {
		if len(readObject(t, o, fmt.Sprint(i))) != maxPiece {
			t.Errorf("object %d is not whole", i)
		}
	}
	if err := o.Remove(t.Context(), "0", "1"); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Put(t.Context(), "again", strings.NewReader("x")); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
