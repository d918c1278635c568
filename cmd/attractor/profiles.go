package main

import (
	"strings"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// profiles is the one table of profiles, by the name that --profile takes.
func profiles() []profile.Profile {
	return []profile.Profile{anthropic.Profile()}
}

// chooseProfile takes the one that is named, else the provider's. A provider without one gets the tools and the prompt of the
// anthropic profile, without its provider options, and its own newest model.
func (f *runFlags) chooseProfile(provider string) (profile.Profile, error) {
	if f.profile != "" {
		return findProfile(f.profile)
	}
	for _, p := range profiles() {
		if p.Provider == provider {
			return p, nil
		}
	}
	p := anthropic.Profile()
	p.Provider, p.Options = provider, nil
	newest, _ := catalog.New().Latest(provider, "reasoning")
	if p.Model = newest.ID; p.Model == "" && f.model == "" {
		return p, fail(exitUsage, "the provider %s has no default model: give one with --model", provider)
	}
	return p, nil
}

func findProfile(name string) (profile.Profile, error) {
	var names []string
	for _, p := range profiles() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return profile.Profile{}, fail(exitUsage, "unknown profile %q; there is %s", name, strings.Join(names, ", "))
}
