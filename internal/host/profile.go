package host

import (
	"strings"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
)

// family names a profile and its provider, so that nobody builds a profile to ask for its name. It holds the constructors of the
// profile's two dialects.
type family struct {
	name, provider string
	own, native    func() profile.Profile
}

// families returns the families of all profiles.
func families() []family {
	return []family{
		{"anthropic", "anthropic", anthropic.Profile, anthropic.Native},
		{"openai", "openai", openai.Profile, openai.Native},
		{"gemini", "gemini", gemini.Profile, gemini.Native},
	}
}

// nativeDialect is the name of the dialect with the vendors' own tools.
const nativeDialect = "native"

// build returns the profile in its own or its native dialect.
func (f family) build(native bool) profile.Profile {
	if native {
		return f.native()
	}
	return f.own()
}

// chooseProfile returns the chosen profile, else the provider's. A provider without a profile gets the anthropic profile without its
// provider options, and its own newest model.
func (c *Config) chooseProfile(provider string) (profile.Profile, error) {
	native := c.Native != nil && *c.Native
	if c.Profile != "" {
		return FindProfile(c.Profile, native)
	}
	all := families()
	for _, f := range all {
		if f.provider == provider {
			return f.build(native), nil
		}
	}
	p := all[0].build(native)
	p.Provider, p.Options = provider, nil
	newest, _ := catalog.New().Latest(provider, "reasoning")
	if p.Model = newest.ID; p.Model == "" && value(c.Model) == "" {
		return p, fail(ErrNoModel, "the provider %s has no default model", provider)
	}
	return p, nil
}

// FindProfile returns the profile of that name, in its own or its native dialect.
func FindProfile(name string, native bool) (profile.Profile, error) {
	f, err := findFamily(name)
	if err != nil {
		return profile.Profile{}, err
	}
	return f.build(native), nil
}

// findFamily returns the family whose profile has that name.
func findFamily(name string) (family, error) {
	for _, f := range families() {
		if f.name == name {
			return f, nil
		}
	}
	return family{}, fail(ErrConfig, "unknown profile %q; the profiles are %s", name, strings.Join(ProfileNames(), ", "))
}

// ProfileNames returns the names of all profiles.
func ProfileNames() []string {
	var names []string
	for _, f := range families() {
		names = append(names, f.name)
	}
	return names
}
