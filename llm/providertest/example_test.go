package providertest_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/openaichat"
	"github.com/attractor-go/attractor/llm/providertest"
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

// The test of a provider, in a file of its package: it talks to a scripted server, with faults of
// all kinds.
func ExampleSuite() {
	test := func(t *testing.T) {
		providertest.Suite(t, func(t *testing.T, c providertest.Config) llm.Provider {
			p, err := openaichat.New(openaichat.Options{APIKey: c.APIKey, BaseURL: c.BaseURL + "/v1",
				HTTPClient: c.Client, IdleTimeout: c.Idle})
			if err != nil {
				t.Fatal(err)
			}
			return p
		})
	}
	goTest("TestStreamContract", test)
	// Output: TestStreamContract true
}

// reports prints what a test would report.
type reports struct{ testing.TB }

func (reports) Helper()                           {}
func (reports) Error(args ...any)                 { fmt.Println(args...) }
func (reports) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// A stream that just stops breaks the contract.
func ExampleContract() {
	stops := func(context.Context, *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			_ = yield(llm.StreamEvent{Type: llm.EventStart}, nil) && yield(llm.StreamEvent{Type: llm.EventTextStart},
				nil) &&
				yield(llm.StreamEvent{Type: llm.EventTextDelta, Delta: "Hel"}, nil)
		}
	}
	var t reports
	_, err := providertest.Contract(t, stops(context.Background(), nil))
	fmt.Println(err)
	// Output:
	// the stream ended without an EventFinish and without an error
	// block 0 never ended
	// <nil>
}
