package render_test

import (
	"testing"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm"
)

// What a server does not tell is unknown, not nothing.
func TestX7_UnknownUsage(t *testing.T) {
	for _, c := range []struct {
		usage llm.Usage
		turns int
		want  string
	}{
		{llm.Usage{}, 0, "0 tokens in, 0 out"},
		{llm.Usage{}, 2, "tokens unknown"},
		{llm.Usage{Input: 100, CacheRead: 50, Output: 3}, 2, "100 tokens in (50% cached), 3 out"},
	} {
		if got := render.Tokens(c.usage, c.turns); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}
