package attractor

import (
	"slices"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/profiles"
	"github.com/attractor-go/attractor/tool/webfetch"
)

// WithWeb returns a profile with the tool that reads public web pages, under the name that the
// profile's dialect has for it.
func WithWeb(p profile.Profile) (profile.Profile, error) {
	t, err := webfetch.New(webfetch.Options{})
	if err != nil {
		return p, err
	}
	if p.Name == "anthropic" && p.Dialect == profiles.Native {
		t = anthropic.NativeWebFetch(t)
	}
	p.Tools = append(slices.Clip(p.Tools), t)
	return p, nil
}
