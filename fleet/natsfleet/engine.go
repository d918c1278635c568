package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
)

// natsEngine implements [fleet.Engine].
type natsEngine struct {
	target   target
	operator *account
	token    string // of the operator; the passwords of workers derive from it
	leases   fleet.Leases
	slots    fleet.Slots
	ledgers  *engine.Ledgers
	close    func() error // ends what the engine owns beside its connections; may be nil

	mu     sync.Mutex        // held while a space is opened
	spaces map[string]*space // by tenant
	closed bool
}

// slotHold is the time that a slot stays taken after the last heartbeat of its holder.
const slotHold = 10 * time.Second

// Open connects to servers as the fleet's operator, as workers do. The url may name several
// servers, separated by commas. It fails at once if no server answers or the token is wrong. Once
// it is connected it reconnects for as long as it is open.
func Open(ctx context.Context, url string, o OpenOptions) (fleet.Engine, error) {
	return openEngine(ctx, target{url: url, o: o}, o.Token)
}

// openEngine connects as the operator.
func openEngine(ctx context.Context, to target, token string) (*natsEngine, error) {
	nc, err := to.connect(ctx, operatorUser, token)
	if err != nil {
		return nil, err
	}
	e := &natsEngine{target: to, token: token, spaces: map[string]*space{}}
	if e.operator, err = newAccount(nc, fleet.Tenant{}); err == nil {
		err = e.setUp(ctx)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return e, nil
}

// setUp reads the registry and opens what belongs to the operator.
func (e *natsEngine) setUp(ctx context.Context) error {
	r, err := readRegistry(ctx, e.operator)
	if err != nil {
		return err
	}
	e.operator.replicas, e.operator.shards = r.Replicas, r.Shards
	leases, err := newRecords(ctx, e.operator, "leases", "lease.*")
	if err != nil {
		return err
	}
	// Older stores have a stream "slots" with another retention, which the server does not change,
	// and one "rates". No subject may be in two streams.
	slots, err := newRecords(ctx, e.operator, "limits", "limit.slot.*.*", "limit.rate.*", "limit.pause.*")
	if err != nil {
		return err
	}
	ledgers, err := newRecords(ctx, e.operator, "ledgers", "ledger.*")
	if err != nil {
		return err
	}
	e.leases, e.slots = engine.NewLeases(leases), engine.NewSlots(slots, r.Slots, slotHold)
	e.ledgers = engine.NewLedgers(ledgers)
	return nil
}

// Tenants implements [fleet.Engine].
func (e *natsEngine) Tenants(ctx context.Context) ([]fleet.Tenant, error) {
	r, err := readRegistry(ctx, e.operator)
	return r.Tenants, err
}

// Open implements [fleet.Engine]. The limits of the tenant are those of now: they do not change in
// the space.
func (e *natsEngine) Open(ctx context.Context, tenant string) (*fleet.Space, error) {
	r, err := readRegistry(ctx, e.operator)
	if err != nil {
		return nil, err
	}
	limits, ok := r.tenant(tenant)
	if !ok {
		return nil, fmt.Errorf("tenant %q: %w", tenant, fs.ErrNotExist)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errors.New("the engine is closed")
	}
	// A connection that the server has refused for good, such as one of a tenant that was removed
	// meanwhile, is made anew.
	if s := e.spaces[tenant]; s != nil && !s.account.nc.IsClosed() {
		return &s.Space, nil
	}
	s, err := e.openSpace(ctx, r, limits)
	if err != nil {
		return nil, fmt.Errorf("tenant %s: %w", tenant, err)
	}
	e.spaces[tenant] = s
	return &s.Space, nil
}

// openSpace connects to a tenant's account.
func (e *natsEngine) openSpace(ctx context.Context, r registry, limits fleet.Tenant) (*space, error) {
	nc, err := e.target.connect(ctx, workerUser(limits.Name), workerPassword(e.token, limits.Name))
	if err != nil {
		return nil, err
	}
	a, err := newAccount(nc, limits)
	if err != nil {
		nc.Close()
		return nil, err
	}
	a.replicas, a.shards = r.Replicas, r.Shards
	s, err := newSpace(ctx, a)
	if err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

// Leases implements [fleet.Engine].
func (e *natsEngine) Leases() fleet.Leases { return e.leases }

// Slots implements [fleet.Engine].
func (e *natsEngine) Slots() fleet.Slots { return e.slots }

// Ledger implements [fleet.Engine].
func (e *natsEngine) Ledger(scope string, budget agent.Budget) agent.Ledger {
	return e.ledgers.Open(scope, budget)
}

// Close implements [fleet.Engine].
func (e *natsEngine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	for _, s := range e.spaces {
		s.account.nc.Close()
	}
	e.operator.nc.Close()
	if e.close == nil {
		return nil
	}
	return e.close()
}

// inProcess is the target of connections to a server of this process.
func inProcess(s *server.Server) target { return target{server: s} }

const (
	registryStream = "fleet"
	registryKey    = "fleet.registry"
	defaultShards  = 4
)

// registry describes the fleet for the operator and the workers. It holds no secret.
type registry struct {
	Tenants  []fleet.Tenant    `json:"tenants"` // ordered by name
	Slots    []fleet.SlotLimit `json:"slots,omitempty"`
	Replicas int               `json:"replicas"`
	Shards   int               `json:"shards"`
}

// tenant returns a tenant by its name.
func (r registry) tenant(name string) (fleet.Tenant, bool) {
	for _, t := range r.Tenants {
		if t.Name == name {
			return t, true
		}
	}
	return fleet.Tenant{}, false
}

// readRegistry returns the registry as it is now.
func readRegistry(ctx context.Context, operator *account) (r registry, err error) {
	s, err := retry(ctx, operator, makeTime, func(ctx context.Context) (jetstream.Stream, error) {
		return operator.js.Stream(ctx, registryStream)
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return r, errors.New("this is a NATS server, but no fleet was set up there: start it with " +
			"natsfleet.StartServer, or attractor-fleet serve")
	}
	var e engine.Record
	if err == nil {
		e, err = (&records{operator, s}).Get(ctx, registryKey)
	}
	if err == nil && e.Seq == 0 {
		err = errors.New("the server has none yet")
	}
	if err != nil {
		return r, fmt.Errorf("the registry: %w", err)
	}
	return r, json.Unmarshal(e.Data, &r)
}

// writeRegistry replaces the registry, unless it is the same already.
func writeRegistry(ctx context.Context, operator *account, r registry) error {
	records, err := newRecords(ctx, operator, registryStream, registryKey)
	if err != nil {
		return err
	}
	return engine.Update(ctx, records, registryKey, func(engine.Record) (any, time.Duration, error) {
		return r, 0,
			nil
	})
}

// space is the space of a tenant, with the account that has it.
type space struct {
	fleet.Space
	account *account
	queue   *queue
}

// newSpace opens the parts of a space and makes missing streams.
func newSpace(ctx context.Context, a *account) (*space, error) {
	journals, err := newJournals(ctx, a)
	if err != nil {
		return nil, named("the journals", err)
	}
	objects, err := newObjects(ctx, a)
	if err != nil {
		return nil, named("the objects", err)
	}
	queue, err := newQueue(ctx, a)
	if err != nil {
		return nil, named("the queue", err)
	}
	askRecords, err := newRecords(ctx, a, "asks", "ask.*.*", "answer.*.*")
	if err != nil {
		return nil, named("the asks", err)
	}
	taskRecords, err := newRecords(ctx, a, "tasks", "task.*.*")
	if err != nil {
		return nil, named("the tasks", err)
	}
	asks := engine.NewAsks(askRecords)
	tasks := engine.NewTasks(taskRecords, queue, a.limits, journals, objects, asks)
	return &space{account: a, queue: queue,
		Space: fleet.Space{Tasks: tasks, Journals: journals, Objects: objects, Bus: newBus(a), Asks: asks}}, nil
}

// named adds to an error what it is about. It returns nil for nil.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
