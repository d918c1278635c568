package attractor

import (
	"slices"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/profiles"
)

// chooseProfile returns the chosen profile, else the provider's. A provider without a profile gets
// the default one without its provider options, and its own newest model.
func (c *config) chooseProfile(provider string) (profile.Profile, error) {
	native := c.Native != nil && *c.Native
	if c.Profile != "" {
		return findProfile(c.Profile, native)
	}
	all := profiles.Names()
	if slices.Contains(all, provider) {
		return findProfile(provider, native)
	}
	p, err := findProfile(all[0], native)
	p.Provider, p.Options = provider, nil
	newest, _ := catalog.New().Latest(provider, "reasoning")
	if p.Model = newest.ID; p.Model == "" && value(c.Model) == "" {
		return p, fail(ErrNoModel, "the provider %s has no default model", provider)
	}
	return p, err
}

// findProfile returns the profile of that name, in its own or its native dialect.
func findProfile(name string, native bool) (profile.Profile, error) {
	p, err := profiles.Find(name, native)
	if err != nil {
		err = fail(ErrConfig, "%w", err)
	}
	return p, err
}
