package natsfleet

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

// journalServer runs a server for the tests of journals.
type journalServer struct {
	t       testing.TB
	options *server.Options
	*server.Server
}

func startJournalServer(t testing.TB, o *server.Options) *journalServer {
	t.Helper()
	s := &journalServer{t: t, options: o}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *journalServer) start() {
	s.t.Helper()
	o := *s.options
	o.JetStream, o.NoSigs, o.NoLog, o.SyncAlways = true, true, true, o.SyncInterval == 0
	started, err := server.NewServer(&o)
	if err != nil {
		s.t.Fatal(err)
	}
	started.Start()
	if !started.ReadyForConnections(20 * time.Second) {
		s.t.Fatal("the server does not start")
	}
	s.Server = started
}

func (s *journalServer) stop() {
	s.Shutdown()
	s.WaitForShutdown()
}

// connect returns an account on a connection of its own.
func (s *journalServer) connect(options ...nats.Option) *account {
	s.t.Helper()
	return connectJournals(s.t, "", 1, append(options, nats.InProcessServer(s))...)
}

func connectJournals(t testing.TB, urls string, replicas int, options ...nats.Option) *account {
	t.Helper()
	nc, err := nats.Connect(urls, append(options, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.RetryOnFailedConnect(true))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	a, err := newAccount(nc, fleet.Tenant{})
	if err != nil {
		t.Fatal(err)
	}
	a.replicas, a.shards, a.attempt = replicas, 2, 300*time.Millisecond // an answer may be late, too
	return a
}

// noSync is the time between syncs of servers on which nothing depends on them.
const noSync = time.Hour

// oneServer starts a server that only this process reaches.
func oneServer(t testing.TB) *journalServer {
	t.Helper()
	return startJournalServer(t, &server.Options{DontListen: true, StoreDir: t.TempDir(), SyncInterval: noSync})
}

func journalsOf(t testing.TB, a *account) *journals {
	t.Helper()
	j, err := newJournals(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// threeServers starts a cluster in this process. Sync is the time between syncs; 0 means always.
func threeServers(t testing.TB, sync time.Duration) []*journalServer {
	t.Helper()
	var routes []*url.URL
	var at []*net.TCPAddr
	for i := range 3 {
		at = append(at, peer.Address(t))
		routes = append(routes, &url.URL{Scheme: "nats", Host: at[i].String()})
	}
	servers := make([]*journalServer, 3)
	dir := t.TempDir()
	for i := range servers {
		servers[i] = &journalServer{t: t, options: &server.Options{ServerName: fmt.Sprint("n", i), Host: "127.0.0.1",
			Port: -1, StoreDir: fmt.Sprint(dir, "/", i), SyncInterval: sync,
			Cluster: server.ClusterOpts{Name: "c", Host: at[i].IP.String(), Port: at[i].Port}, Routes: routes}}
	}
	for _, s := range servers {
		o := *s.options // the server changes its own
		o.JetStream, o.NoSigs, o.NoLog, o.SyncAlways = true, true, true, sync == 0
		started, err := server.NewServer(&o)
		if err != nil {
			t.Fatal(err)
		}
		s.Server = started
		started.Start()
		t.Cleanup(s.stop)
	}
	for _, s := range servers {
		if !s.ReadyForConnections(20 * time.Second) {
			t.Fatal("a server does not start")
		}
		s.options.Port = s.Addr().(*net.TCPAddr).Port
	}
	until(t, func() bool {
		for _, s := range servers {
			if s.JetStreamIsLeader() {
				return true
			}
		}
		return false
	})
	return servers
}

// until waits for a condition.
func until(t testing.TB, ok func() bool) {
	t.Helper()
	await.For(t, "the condition", ok)
}

// lossy is a JetStream whose acknowledgements get lost when lose says so: the message is written,
// and nobody is told.
type lossy struct {
	jetstream.JetStream
	lose atomic.Int64 // how many of the next are lost
}

func (l *lossy) PublishMsg(ctx context.Context, m *nats.Msg,
	options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	ack, err := l.JetStream.PublishMsg(ctx, m, options...)
	if err == nil && l.lose.Add(-1) >= 0 {
		return nil, context.DeadlineExceeded
	}
	return ack, err
}
