package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
)

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
		return r, errors.New("this is a NATS server, but no fleet was set up there: start it with natsfleet.StartServer, or attractor-fleet serve")
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
	return engine.Update(ctx, records, registryKey, func(engine.Record) (any, time.Duration, error) { return r, 0, nil })
}
