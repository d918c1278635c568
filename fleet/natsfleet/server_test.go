package natsfleet

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/internal/peer"
)

const operatorToken = "the operator's secret of the tests"

// testConfig returns the configuration of a server that listens, with tenants a and b.
func testConfig(t *testing.T) Config {
	return Config{
		Store: t.TempDir(), Listen: "127.0.0.1:0", Operator: operatorToken, Shards: 1,
		Tenants: []Tenant{{Tenant: fleet.Tenant{Name: "a"}, Token: tenantToken("a")},
			{Tenant: fleet.Tenant{Name: "b"}, Token: tenantToken("b")}},
	}
}

func tenantToken(name string) Token { return Token("the secret of tenant " + name) }

// serve starts a server that the test ends.
func serve(t *testing.T, c Config) *Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := StartServer(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// replicaConfigs returns the configurations of three servers that keep everything three times.
func replicaConfigs(t *testing.T) []Config {
	all := make([]Config, 3)
	var routes []string
	for i := range all {
		all[i] = testConfig(t)
		routes = append(routes, peer.Address(t).String())
		all[i].Name, all[i].Replicas, all[i].Cluster = fmt.Sprint("server-", i), 3,
			&Cluster{Name: "test", Listen: routes[i]}
		all[i].Listen = peer.Address(t).String()
	}
	for i := range all {
		all[i].Cluster.Routes = routes
	}
	return all
}

// serveReplicas starts servers, which wait for each other, until any of them may be stopped.
func serveReplicas(t *testing.T, configs []Config) []*Server {
	t.Helper()
	servers := make([]*Server, len(configs))
	var g sync.WaitGroup
	for i, c := range configs {
		g.Go(func() { servers[i] = serve(t, c) })
	}
	if g.Wait(); t.Failed() {
		t.FailNow()
	}
	// A group elects no leader by the vote of a server whose log is empty: it might have lost what
	// it had acknowledged. All servers have to be up then.
	await.For(t, "something in the log of each group on each server", func() bool {
		groups := map[int]bool{} // the numbers of the groups
		for _, s := range servers {
			n, empty := groupsOf(s)
			if groups[n] = true; n == 0 || empty || len(groups) > 1 {
				return false
			}
		}
		return true
	})
	return servers
}

// groupsOf returns how many groups of replicas a server is in, and whether the log of one is empty.
func groupsOf(s *Server) (n int, empty bool) {
	accounts := []string{s.server.SystemAccount().GetName(), "OPERATOR"}
	for _, t := range s.config.Tenants {
		accounts = append(accounts, "TENANT_"+t.Name)
	}
	for _, name := range accounts {
		for _, groups := range *s.server.Raftz(&server.RaftzOptions{AccountFilter: name}) {
			n += len(groups)
			for _, g := range groups {
				empty = empty || g.PIndex == 0
			}
		}
	}
	return n, empty
}

// urls returns the addresses of servers, for Open.
func urls(servers []*Server) string {
	var all []string
	for _, s := range servers {
		all = append(all, s.URL())
	}
	return strings.Join(all, ",")
}

func TestP7_ThreeReplicas(t *testing.T) {
	t.Parallel()
	configs := replicaConfigs(t)
	servers := serveReplicas(t, configs)
	e, err := Open(t.Context(), urls(servers), OpenOptions{Token: operatorToken})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	s, err := e.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	a := inside(e, "a").account
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	streams := a.js.ListStreams(ctx)
	for info := range streams.Info() {
		// Nobody notices when a replica lags behind.
		if info.Config.Replicas != 3 || info.Config.AllowDirect {
			t.Errorf("%s: %d replicas, read from any: %v", info.Config.Name, info.Config.Replicas,
				info.Config.AllowDirect)
		}
	}
	if err := streams.Err(); err != nil {
		t.Error(err)
	}
	if _, err := s.Objects.Put(t.Context(), "x", strings.NewReader("kept")); err != nil {
		t.Fatal(err)
	}
	if err := servers[0].Close(); err != nil {
		t.Fatal(err)
	}
	if got := readObject(t, s.Objects, "x"); string(got) != "kept" {
		t.Errorf("%q", got)
	}
	if _, err := s.Objects.Put(t.Context(), "x", strings.NewReader("again")); err != nil {
		t.Errorf("with two of three servers: %v", err)
	}
	for _, s := range servers[1:] {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	serveReplicas(t, configs[1:])
	if got := readObject(t, s.Objects, "x"); string(got) != "again" {
		t.Errorf("after a restart: %q", got)
	}
}

// Servers that start one after the other wait for those that are missing.
func TestP7_ThirdServerStartsLater(t *testing.T) {
	t.Parallel()
	configs := replicaConfigs(t)
	first := make(chan *Server, 2)
	for _, c := range configs[:2] {
		go func() {
			s, err := StartServer(t.Context(), c)
			if err != nil {
				t.Error(err)
			}
			first <- s
		}()
	}
	for _, c := range configs[:2] { // until both listen
		await.For(t, "somebody who listens to "+c.Listen, func() bool {
			nc, err := net.Dial("tcp", c.Listen)
			if err == nil {
				nc.Close()
			}
			return err == nil
		})
	}
	select {
	case <-first:
		t.Error("two servers do not wait for the third")
	case <-time.After(time.Second): // the two have a leader, and try to make streams
	}
	serve(t, configs[2])
	for range 2 {
		if s := <-first; s != nil {
			defer s.Close()
		}
	}
}

func TestP1_AddressInUse(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := testConfig(t)
	c.Listen = l.Addr().String()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	_, err = StartServer(ctx, c)
	if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("not told at once why: %v", err)
	}
}

func TestP7_SyncedBeforeAcknowledged(t *testing.T) {
	t.Parallel()
	s := serve(t, testConfig(t))
	if v, err := s.server.Varz(nil); err != nil || !v.JetStream.Config.SyncAlways {
		t.Errorf("synced always: %+v, %v", v.JetStream.Config, err)
	}
}

// A machine that opens what is there asks the servers for no change, because that costs a cluster a
// round of agreement.
func TestP7_OpeningAgainChangesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, testConfig(t))
	open := func() *space {
		t.Helper()
		e, err := s.engine(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		if _, err := e.Open(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		return inside(e, "a")
	}
	a := open().account
	var asked []string
	sub, err := a.nc.Subscribe("$JS.API.>", func(m *nats.Msg) {
		if strings.Contains(m.Subject, "CREATE") || strings.Contains(m.Subject, "UPDATE") {
			asked = append(asked, m.Subject)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	same := open().account
	changed := *same
	changed.limits.Limit = 3
	q, err := newQueue(t.Context(), &changed)
	if err != nil {
		t.Fatal(err)
	}
	if most := q.workers.CachedInfo().Config.MaxAckPending; most != 3 {
		t.Errorf("claims at once: %d", most)
	}
	if err := a.nc.Drain(); err != nil {
		t.Fatal(err)
	}
	<-a.life.Done()
	if want := []string{"$JS.API.CONSUMER.CREATE.queue.workers.queue.*"}; !slices.Equal(asked, want) {
		t.Errorf("asked the servers for\n%s", strings.Join(asked, "\n"))
	}
}
