package env_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
)

// liar is an environment that says of every name that it leads to the same path.
type liar struct {
	env.Base
	to string
}

func (l liar) Resolve(context.Context, string) (string, error) { return l.to, nil }

// An environment, such as one of another machine, cannot say that a name leads to a path that no
// file has, in whose directories everybody would look for very long.
func TestO1_NoPathIsLongerThanThatOfAFile(t *testing.T) {
	for _, c := range []struct {
		elements int
		long     bool
	}{{2048, false}, {2049, true}, {1 << 20, true}} {
		e := env.Environment(liar{env.Base{Environment: envtest.NewMemory(nil)}, strings.Repeat("/x", c.elements)})
		for range 2 {
			_, err := env.Resolve(t.Context(), e, "a")
			if errors.Is(err, syscall.ENAMETOOLONG) != c.long || (err != nil) != c.long {
				t.Errorf("%d elements: %v", c.elements, err)
			}
			e = env.Protect(e, env.DefaultProtection())
		}
	}
}
