package memfleet_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
)

// What happens to a task whose first worker is not heard of again.
func ExampleNew() {
	ctx := context.Background()
	engine := memfleet.New(memfleet.Options{})
	defer engine.Close()
	space, err := engine.Open(ctx, fleet.DefaultTenant)
	if err != nil {
		log.Fatal(err)
	}
	tasks := space.Tasks
	if _, _, err := tasks.Submit(ctx, fleet.Task{ID: "tests", Prompt: "Make the tests pass."}); err != nil {
		log.Fatal(err)
	}
	if _, err := tasks.Claim(ctx, "anna", time.Millisecond); err != nil {
		log.Fatal(err)
	}
	claim, err := tasks.Claim(ctx, "ben", time.Minute) // waits until the other claim has expired
	if err != nil {
		log.Fatal(err)
	}
	status := claim.Status()
	status.State = fleet.Done
	if err := claim.Finish(ctx, status); err != nil {
		log.Fatal(err)
	}
	if _, status, err = tasks.Get(ctx, "tests"); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s by %s, attempt %d, after the death of %s\n", status.State, status.Worker, status.Attempt,
		status.Deaths[0].Worker)
	// Output: done by ben, attempt 2, after the death of anna
}
