package profiles

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
)

// Native is the name of the dialect with the vendors' own tools.
const Native = "native"

// family is a profile, which has the name of its provider, with its two dialects. So nobody builds
// a profile to ask for its name.
type family struct {
	name        string
	own, native func() profile.Profile
}

func families() []family {
	return []family{
		{"anthropic", anthropic.Profile, anthropic.Native},
		{"openai", openai.Profile, openai.Native},
		{"gemini", gemini.Profile, gemini.Native},
	}
}

// Names returns the names of all profiles, the default one first. Each is also the name of the
// provider that it was made for.
func Names() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}

// Find returns the profile of that name, in its own or its native dialect.
func Find(name string, native bool) (profile.Profile, error) {
	for _, f := range families() {
		switch {
		case f.name != name:
		case native:
			return f.native(), nil
		default:
			return f.own(), nil
		}
	}
	return profile.Profile{}, fmt.Errorf("unknown profile %q; the profiles are %s", name, strings.Join(Names(), ", "))
}
