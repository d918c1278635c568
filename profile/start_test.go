package profile_test

import (
	"testing"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
	"github.com/attractor-go/attractor/tool"
)

// A profile's tools bring their schemas as text, which a registry checks and does not parse. To
// parse the schema of a tool takes about 500 allocations.
func TestK1_ProfilesParseNoSchema(t *testing.T) {
	for _, build := range []func() profile.Profile{anthropic.Profile, anthropic.Native, openai.Profile, openai.Native,
		gemini.Profile, gemini.Native} {
		p := build()
		n := testing.AllocsPerRun(3, func() {
			if _, err := tool.NewRegistry(build().Tools...); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %v allocations, %v for each tool", title(p), n, n/float64(len(p.Tools)))
		if n/float64(len(p.Tools)) > 350 {
			t.Errorf("%s: %v allocations for %d tools", title(p), n, len(p.Tools))
		}
	}
}
