package journaltest_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/journal/journaltest"
)

// The test of a store of your own is one call.
func ExampleStoreSuite() {
	test := func(t *testing.T) {
		journaltest.StoreSuite(t, func(*testing.T) journal.Store { return journal.NewMemoryStore(true) })
	}
	goTest("TestStore", test)
	// Output:
	// TestStore true
}

// A log alone is tested through a function that opens it again and again.
func ExampleSuite() {
	test := func(t *testing.T) {
		journaltest.Suite(t, func() journaltest.Open {
			kept := journal.NewMemory()
			return func() (journal.Log, error) { return kept, nil }
		})
	}
	goTest("TestLog", test)
	// Output: TestLog true
}

// goTest runs a test as go test does, and prints whether it has passed.
func goTest(name string, test func(t *testing.T)) {
	stdout := os.Stdout
	os.Stdout = os.Stderr // what tests report is not the example's output
	ok := testing.RunTests(func(_, _ string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: name, F: test}})
	os.Stdout = stdout
	fmt.Println(name, ok)
}
