package host

import (
	"strings"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
)

// dialects holds the constructors of a profile's two dialects.
type dialects struct{ own, native func() profile.Profile }

// profiles returns all profiles.
func profiles() []dialects {
	return []dialects{
		{anthropic.Profile, anthropic.Native},
		{openai.Profile, openai.Native},
		{gemini.Profile, gemini.Native},
	}
}

// nativeDialect is the name of the dialect with the vendors' own tools.
const nativeDialect = "native"

// choose returns the profile in its own or its native dialect.
func (d dialects) choose(native bool) profile.Profile {
	if native {
		return d.native()
	}
	return d.own()
}

// chooseProfile returns the chosen profile, else the provider's. A provider without a profile gets the anthropic profile without its
// provider options, and its own newest model.
func (c *Config) chooseProfile(provider string) (profile.Profile, error) {
	native := c.Native != nil && *c.Native
	if c.Profile != "" {
		return FindProfile(c.Profile, native)
	}
	for _, d := range profiles() {
		if p := d.choose(native); p.Provider == provider {
			return p, nil
		}
	}
	p := dialects{anthropic.Profile, anthropic.Native}.choose(native)
	p.Provider, p.Options = provider, nil
	newest, _ := catalog.New().Latest(provider, "reasoning")
	if p.Model = newest.ID; p.Model == "" && value(c.Model) == "" {
		return p, fail(ErrNoModel, "the provider %s has no default model", provider)
	}
	return p, nil
}

// FindProfile returns the profile of that name, in its own or its native dialect.
func FindProfile(name string, native bool) (profile.Profile, error) {
	for _, d := range profiles() {
		if p := d.choose(native); p.Name == name {
			return p, nil
		}
	}
	return profile.Profile{}, fail(ErrConfig, "unknown profile %q; the profiles are %s", name, strings.Join(ProfileNames(), ", "))
}

// ProfileNames returns the names of all profiles.
func ProfileNames() []string {
	var names []string
	for _, d := range profiles() {
		names = append(names, d.own().Name)
	}
	return names
}
