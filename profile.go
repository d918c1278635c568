package attractor

import (
	"cmp"
	"slices"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/profiles"
)

// chooseProfile returns the chosen profile, else the provider's. A provider without a profile of
// its own gets the one that suits it without its provider options, and the first model of the
// catalog.
func (c *config) chooseProfile(provider string) (profile.Profile, error) {
	native := c.chosen.native != nil && *c.chosen.native
	if c.Profile != "" {
		return findProfile(c.Profile, native)
	}
	all := profiles.Names()
	if slices.Contains(all, provider) {
		return findProfile(provider, native)
	}
	kind, _ := c.table().Find(provider) // none for a program's own
	p, err := findProfile(cmp.Or(kind.Profile, all[0]), native)
	p.Provider, p.Options = provider, nil
	first, known := catalog.New().Latest(provider, "reasoning") // not the newest of a list that was read since
	if !known {
		first, _ = c.catalog().Latest(provider, "reasoning")
	}
	p.Model = cmp.Or(kind.Model, first.ID)
	switch {
	case p.Model != "" || value(c.chosen.model) != "":
		return p, err
	case c.ofProgram(provider): // the command knows nothing of it
		return p, fail(ErrNoModel, "the provider %s has no default model: name one, such as %[1]s/MODEL", provider)
	}
	return p, fail(ErrNoModel, "the provider %s has no default model (attractor models --provider %[1]s)", provider)
}

// findProfile returns the profile of that name, in its own or its native dialect.
func findProfile(name string, native bool) (profile.Profile, error) {
	p, err := profiles.Find(name, native)
	if err != nil {
		err = fail(ErrConfig, "%w", err)
	}
	return p, err
}
