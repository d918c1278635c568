package fleettest_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/fleettest"
	"github.com/attractor-go/attractor/fleet/memfleet"
)

// goTest runs a test as go test does, and prints whether it has passed.
func goTest(name string, test func(t *testing.T)) {
	stdout := os.Stdout
	os.Stdout = os.Stderr // what tests report is not the example's output
	ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: name, F: test}})
	os.Stdout = stdout
	fmt.Println(name, ok)
}

// The test of an engine, in a file of its package.
func ExampleSuite() {
	test := func(t *testing.T) {
		fleettest.Suite(t, func(_ *testing.T, o fleettest.Options) fleettest.Fleet {
			first := memfleet.New(memfleet.Options{Tenants: o.Tenants, Limits: o.Limits})
			return fleettest.Fleet{Unit: 10 * time.Millisecond, Engine: func(t *testing.T) fleet.Engine {
				e := first.Share() // another machine would connect
				t.Cleanup(func() { _ = e.Close() })
				return e
			}}
		})
	}
	goTest("TestEngine", test)
	// Output: TestEngine true
}
