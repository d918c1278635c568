package shellenv

import "testing"

// A command that has ended before anybody looked has started nevertheless.
func TestD1_QuickCommand(t *testing.T) {
	p := &process{started: make(chan struct{}), ended: make(chan struct{})}
	close(p.started)
	close(p.ended)
	for range 64 { // select chooses at random
		if err := p.awaitStart(t.Context(), "."); err != nil {
			t.Fatal(err)
		}
	}
}
