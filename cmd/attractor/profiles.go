package main

import (
	"strings"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// profiles is the one table of profiles, by the name that --profile takes.
func profiles() []profile.Profile {
	return []profile.Profile{anthropic.Profile()}
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
