package natsfleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
)

const (
	registryBucket = "fleet"
	registryKey    = "registry"
	defaultShards  = 4
)

// registry is what the servers tell the operator's clients about the fleet. It holds no secret.
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
	kv, err := retry(ctx, "the registry", func(ctx context.Context) (jetstream.KeyValue, error) {
		return operator.js.KeyValue(ctx, registryBucket)
	})
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return r, errors.New("this is a NATS server, but no fleet was set up there: start it with natsfleet.Serve, or attractor-fleet serve")
	}
	if err != nil {
		return r, err
	}
	e, err := retry(ctx, "the registry", func(ctx context.Context) (jetstream.KeyValueEntry,
		error) {
		return kv.Get(ctx, registryKey)
	})
	if err != nil {
		return r, fmt.Errorf("the registry: %w", err)
	}
	return r, json.Unmarshal(e.Value(), &r)
}

// writeRegistry replaces the registry, unless it is the same already.
func writeRegistry(ctx context.Context, operator *account, r registry) error {
	kv, err := operator.keyValue(ctx, registryBucket)
	if err != nil {
		return err
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = retry(ctx, "the registry", func(ctx context.Context) (uint64, error) {
		if e, err := kv.Get(ctx, registryKey); err == nil && string(e.Value()) == string(data) {
			return e.Revision(), nil
		}
		return kv.Put(ctx, registryKey, data)
	})
	return err
}
