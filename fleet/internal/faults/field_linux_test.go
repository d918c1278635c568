package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/internal/await"
)

// shape says how large a fleet is.
type shape struct {
	servers, workers, slots int
	ttl, latency            time.Duration
	maxDeaths               int
	links                   bool   // the workers are in networks of their own, if that is allowed here
	store                   string // the directory of the only server
}

// field is a fleet of processes, and this process as its client.
type field struct {
	*testing.T
	shape
	model   *model
	logs    string
	configs []natsfleet.Config
	servers []*process // changed by the script alone, while the sessions run
	urls    string     // of all servers, from here
	engine  fleet.Engine
	client  *fleet.Client
	space   *fleet.Space
	crews   []*crew
}

// newField starts the servers of a fleet.
func newField(t *testing.T, s shape) *field {
	t.Helper()
	f := &field{T: t, shape: s, model: serveModel(t, s.latency), logs: t.TempDir()}
	f.configs = configs(t, s.servers)
	if s.store != "" {
		f.configs[0].Store = s.store
	}
	f.urls = f.urlsFrom("127.0.0.1")
	f.servers = make([]*process, s.servers)
	t.Cleanup(func() {
		for _, p := range f.servers {
			if p == nil {
				continue
			}
			if err := p.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if code := p.cmd.ProcessState.ExitCode(); code != 0 {
				t.Errorf("a server ended with exit code %d: %s", code, p.tail())
			}
		}
		if t.Failed() {
			for _, p := range f.servers {
				t.Log(p.tail())
			}
			for _, c := range f.crews {
				for _, p := range c.all {
					t.Log(p.tail())
				}
			}
		}
	})
	for i := range f.servers {
		if err := f.startServer(i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range f.servers {
		if err := f.ready(i); err != nil {
			t.Fatal(err)
		}
	}
	f.connect()
	return f
}

// configs returns the configurations of servers with ports of their own, on all addresses.
func configs(t *testing.T, n int) []natsfleet.Config {
	t.Helper()
	var list []natsfleet.Config
	var routes []string
	for i := range n {
		c := natsfleet.Config{Store: t.TempDir(), Listen: "0.0.0.0:" + freePort(t), Operator: token,
			Tenants: []natsfleet.Tenant{{Tenant: fleet.Tenant{Name: fleet.DefaultTenant}}}}
		if n > 1 {
			c.Name, c.Replicas = fmt.Sprint("s", i), n
			c.Cluster = &natsfleet.Cluster{Name: "faults", Listen: "127.0.0.1:" + freePort(t)}
			routes = append(routes, c.Cluster.Listen)
		}
		list = append(list, c)
	}
	for i := range list {
		if n > 1 {
			list[i].Cluster.Routes = routes
		}
	}
	return list
}

// freePort returns a port at which nobody listens at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String()) // the address of a listener has both
	return port
}

// urlsFrom returns the servers' URLs, as they are reached at a host.
func (f *field) urlsFrom(host string) string {
	var all []string
	for _, c := range f.configs {
		_, port, _ := net.SplitHostPort(c.Listen) // configs made it
		all = append(all, "nats://"+net.JoinHostPort(host, port))
	}
	return strings.Join(all, ",")
}

// startServer starts a server, also again after its death.
func (f *field) startServer(i int) (err error) {
	f.servers[i], err = start(f.T, f.logs, setup{Role: "server", Name: fmt.Sprint("server", i), Server: f.configs[i]})
	return err
}

// ready waits until a server can be used.
func (f *field) ready(i int) error {
	p := f.servers[i]
	for deadline := time.Now().Add(await.Limit); !p.says("ready\n"); time.Sleep(10 * time.Millisecond) {
		if p.gone() || time.Now().After(deadline) {
			return fmt.Errorf("a server is not ready: %s", p.tail())
		}
	}
	return nil
}

// numbers returns the numbers of all servers.
func (f *field) numbers() []int {
	var all []int
	for i := range f.servers {
		all = append(all, i)
	}
	return all
}

// connect makes this process a client of the fleet.
func (f *field) connect() {
	f.Helper()
	var err error
	await.For(f.T, "a connection to the servers", func() bool {
		f.engine, err = natsfleet.Open(f.Context(), f.urls, natsfleet.OpenOptions{Token: token, Name: "client"})
		return err == nil
	})
	f.Cleanup(func() {
		if err := f.engine.Close(); err != nil {
			f.Error(err)
		}
	})
	if f.space, err = f.engine.Open(f.Context(), fleet.DefaultTenant); err != nil {
		f.Fatal(err)
	}
	f.client = fleet.NewClient(f.space)
}

// crew keeps one worker running: another one takes the place of one that has ended. Each has a name
// of its own.
type crew struct {
	field *field
	n     int
	link  *link
	dir   string

	mu   sync.Mutex
	all  []*process
	stop bool
	over chan struct{}
}

// startCrews starts the workers.
func (f *field) startCrews() {
	f.Helper()
	for n := range f.workers {
		c := &crew{field: f, n: n, dir: f.TempDir(), over: make(chan struct{})}
		if f.links {
			var err error
			if c.link, err = newLink(f.T, n); err != nil {
				f.Logf("no partitions: a network namespace cannot be made here: %v", err)
				f.links, c.link = false, nil
			}
		}
		f.crews = append(f.crews, c)
		if err := c.next(); err != nil {
			f.Fatal(err)
		}
		go c.keep()
	}
	f.Cleanup(f.stopCrews)
}

// next starts the next worker of a crew.
func (c *crew) next() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop {
		return nil
	}
	f, host := c.field, "127.0.0.1"
	var behind []string
	if c.link != nil {
		host, behind = c.link.host, c.link.behind()
	}
	name := fmt.Sprintf("w%d-%d", c.n, len(c.all))
	p, err := start(f.T, f.logs, setup{Role: "worker", Name: name, URL: f.urlsFrom(host),
		Model: "http://" + net.JoinHostPort(host, f.model.port),
		Dir:   c.dir, Slots: f.slots, TTL: f.ttl, MaxDeaths: f.maxDeaths}, behind...)
	if err == nil {
		c.all = append(c.all, p)
	}
	return err
}

// keep starts the next worker when one has ended. It waits a little, as a supervisor does: there
// may be no server at the moment.
func (c *crew) keep() {
	defer close(c.over)
	for {
		<-c.now().ended
		c.mu.Lock()
		stop := c.stop
		c.mu.Unlock()
		if stop {
			return
		}
		<-time.After(200 * time.Millisecond)
		if err := c.next(); err != nil {
			c.field.Error(err)
			return
		}
	}
}

// now returns the crew's newest worker.
func (c *crew) now() *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all[len(c.all)-1]
}

// stopCrews drains all workers.
func (f *field) stopCrews() {
	for _, c := range f.crews {
		c.mu.Lock()
		c.stop = true
		c.mu.Unlock()
		if err := errors.Join(c.now().signal(syscall.SIGCONT), c.now().end(syscall.SIGTERM)); err != nil {
			f.Error(err)
		}
		<-c.over
	}
}

// submit submits sessions, each under its prompt.
func (f *field) submit(ids []string) {
	f.Helper()
	for _, id := range ids {
		if _, _, err := f.client.Submit(f.Context(), fleet.Task{ID: id, Prompt: promptOf(id)}); err != nil {
			f.Fatalf("Submit(%s): %v", id, err)
		}
	}
}

// running returns how many tasks each worker has.
func (f *field) running(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	for s, err := range f.space.Tasks.List(ctx) {
		if err != nil {
			return nil, err
		}
		if s.State == fleet.Running {
			counts[s.Worker]++
		}
	}
	return counts, nil
}

// sessions returns the names of n sessions.
func sessions(n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprintf("s%04d", i))
	}
	return ids
}

// effectsFile returns the file in which a session's effects are counted.
func (m *model) effectsFile(id string) string { return filepath.Join(m.effects, id) }
