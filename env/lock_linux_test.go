package env_test

import (
	"fmt"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// A lock does not block locks of other files.
func TestI6_FilesDoNotWaitForEachOther(t *testing.T) {
	locks := t.TempDir()
	l := newLocal(t, t.TempDir(), env.LocalOptions{Locks: locks})
	for i := range 500 {
		unlock, err := l.Lock(t.Context(), fmt.Sprint("f", i))
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
	}
	only(t, locks, "change")
}
