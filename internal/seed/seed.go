package seed

import (
	"flag"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// standard is the seed of a run that chooses none. Rapid takes 0 for a random one.
const standard = 1

// number returns the seed of this process. Without a choice, the first call sets rapid's seed, and
// lets rapid keep no files of failures: the next run would try those first, and must not depend on
// this one.
var number = sync.OnceValue(func() uint64 {
	if n := flag.Lookup("rapid.seed").Value.(flag.Getter).Get().(uint64); n != 0 { // the flag, or RAPID_SEED
		return n
	}
	for name, value := range map[string]string{"rapid.seed": strconv.Itoa(standard), "rapid.nofailfile": "true"} {
		if err := flag.Lookup(name).Value.Set(value); err != nil {
			panic(err) // only of another rapid
		}
	}
	return standard
})

// Fix gives all later calls of [rapid.Check] the seed. TestMain calls it, before it runs the tests,
// in a package whose tests call other code that checks properties. Other tests call [Check].
func Fix() {
	flag.Parse()
	number()
}

// endless hides the deadline of a test from rapid, which otherwise ends early, and passes, when
// there is little time left.
type endless struct{ *testing.T }

// Check checks a property as [rapid.Check] does, with the same cases in every run, however long
// they take. A failure prints the seed of its case.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	number()
	rapid.Check(endless{t}, prop)
}

// Number returns the seed. If the test fails, it logs how to repeat it.
func Number(t testing.TB) uint64 {
	n := number()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("RAPID_SEED=%d draws the same random numbers again", n)
		}
	})
	return n
}

// New returns a generator of random numbers, which are the same in each run, and for each call: a
// test calls New once. If the test fails, it logs how to repeat it. The generator is not safe for
// concurrent use.
func New(t testing.TB) *rand.Rand { return rand.New(rand.NewPCG(Number(t), 0)) }
