package natsfleet_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
)

// submit submits a task and prints what becomes of it.
func submit(ctx context.Context, s *fleet.Space, id string) {
	status, made, err := fleet.NewClient(s).Submit(ctx, fleet.Task{ID: id, Prompt: "Make the tests pass."})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(id, status.State, made)
}

// A fleet of one process, which survives it: the second start finds the task of the first.
func ExampleOpenEmbedded() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		engine, err := natsfleet.OpenEmbedded(ctx, dir, fleet.Budget{})
		if err != nil {
			log.Fatal(err)
		}
		space, err := engine.Open(ctx, fleet.DefaultTenant)
		if err != nil {
			log.Fatal(err)
		}
		submit(ctx, space, "fix-1")
		if err := engine.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// fix-1 queued true
	// fix-1 queued false
}

// A server for other machines. Workers connect with the operator's token, the clients of a tenant
// with the tenant's.
func ExampleStartServer() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	server, err := natsfleet.StartServer(ctx, natsfleet.Config{Store: dir, Listen: "127.0.0.1:0",
		Operator: "a-secret-of-the-operator",
		Tenants:  []natsfleet.Tenant{{Tenant: fleet.Tenant{Name: "acme"}, Token: "a-secret-of-acme"}}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	// for a fleet.Worker
	engine, err := natsfleet.Open(ctx, server.URL(), natsfleet.OpenOptions{Token: "a-secret-of-the-operator"})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()
	tenants, err := engine.Tenants(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("workers serve", tenants[0].Name)

	space, leave, err := natsfleet.OpenTenant(ctx, server.URL(), "acme",
		natsfleet.OpenOptions{Token: "a-secret-of-acme"})
	if err != nil {
		log.Fatal(err)
	}
	defer leave()
	submit(ctx, space, "fix-1")
	// Output:
	// workers serve acme
	// fix-1 queued true
}
