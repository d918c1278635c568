package main

import (
	"context"
	"errors"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/profile/openai"
)

// dialects is one profile in its two forms.
type dialects struct{ own, native func() profile.Profile }

// profiles returns the one table of profiles. Their names are what --profile takes.
func profiles() []dialects {
	return []dialects{
		{anthropic.Profile, anthropic.Native},
		{openai.Profile, openai.Native},
		{gemini.Profile, gemini.Native},
	}
}

// nativeDialect is the Dialect of the vendors' own tools.
const nativeDialect = "native"

func (d dialects) choose(native bool) profile.Profile {
	if native {
		return d.native()
	}
	return d.own()
}

// chooseProfile takes the one that is named, else the provider's. A provider without one gets the tools and the prompt of the
// anthropic profile, without its provider options, and its own newest model.
func (f *runFlags) chooseProfile(provider string) (profile.Profile, error) {
	if f.profile != "" {
		return findProfile(f.profile, f.native)
	}
	for _, d := range profiles() {
		if p := d.choose(f.native); p.Provider == provider {
			return p, nil
		}
	}
	p := dialects{anthropic.Profile, anthropic.Native}.choose(f.native)
	p.Provider, p.Options = provider, nil
	newest, _ := catalog.New().Latest(provider, "reasoning")
	if p.Model = newest.ID; p.Model == "" && f.model == "" {
		return p, fail(exitUsage, "the provider %s has no default model: give one with --model", provider)
	}
	return p, nil
}

func findProfile(name string, native bool) (profile.Profile, error) {
	for _, d := range profiles() {
		if p := d.choose(native); p.Name == name {
			return p, nil
		}
	}
	return profile.Profile{}, fail(exitUsage, "unknown profile %q; there is %s", name, strings.Join(profileNames(), ", "))
}

func profileNames() []string {
	var names []string
	for _, d := range profiles() {
		names = append(names, d.own().Name)
	}
	return names
}

// systemPrompt renders the prompt of a session in a directory. It reads through an environment of its own, in which the whole
// repository may be read: the project's documents begin at its top, which can be above the directory that the session may touch.
func systemPrompt(ctx context.Context, dir string, o agent.Options) (text string, err error) {
	local, err := env.NewLocal(dir, env.LocalOptions{Containment: env.ContainGroup, Roots: git.Roots(dir)})
	if err != nil {
		return "", cannotWork(dir, err)
	}
	defer func() { err = errors.Join(err, local.Close()) }()
	o.Env = env.ReadOnly(local)
	return agent.SystemPrompt(ctx, o), nil
}
