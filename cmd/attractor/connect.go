package main

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
)

// connection is a client and the provider that was chosen.
type connection struct {
	client   *llm.Client
	provider string
}

// connect makes the client that the flags and the environment ask for.
func (f *runFlags) connect(getenv func(string) string) (*connection, error) {
	kind, err := f.chooseProvider(getenv)
	if err != nil {
		return nil, err
	}
	config, _ := kind.Config(getenv)
	config.BaseURL = first(f.baseURL, config.BaseURL)
	config.IdleTimeout = f.idleTimeout
	switch {
	case kind.NeedsURL && config.BaseURL == "":
		return nil, fail(exitAccess, "the provider %s needs to know its server: set %s, or give --base-url", kind.Name, kind.BaseURLVar)
	case config.APIKey == "" && config.BaseURL == "":
		return nil, fail(exitAccess, "no API key: set %s, or %s or --base-url for a server that needs none.\n"+
			"To see a session without a key, run: attractor demo", strings.Join(kind.KeyVars, " or "), kind.BaseURLVar)
	}
	provider, err := kind.New(config)
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	client := &llm.Client{Providers: []llm.Provider{provider}, Models: catalog.New().Get}
	return &connection{client: client, provider: kind.Name}, nil
}

// chooseProvider takes the one that is named, else the one whose key or base URL is in the environment. It never guesses.
func (f *runFlags) chooseProvider(getenv func(string) string) (providers.Kind, error) {
	if f.provider != "" {
		kind, err := providers.Find(f.provider)
		if err != nil {
			return kind, fail(exitUsage, "%w", err)
		}
		return kind, nil
	}
	var set []providers.Kind
	var names []string
	for _, kind := range providers.Kinds() {
		if _, ok := kind.Config(getenv); ok && !kind.NeedsURL {
			set = append(set, kind)
			names = append(names, kind.Name)
		}
	}
	switch {
	case len(set) == 1:
		return set[0], nil
	case len(set) > 1:
		return providers.Kind{}, fail(exitAccess, "the environment has keys of several providers (%s): choose one with --provider",
			strings.Join(names, ", "))
	case f.baseURL != "":
		return providers.Kind{}, fail(exitUsage, "--base-url needs --provider: %s", strings.Join(providers.Names(), ", "))
	}
	return providers.Kind{}, fail(exitAccess, "no API key: set %s.\nTo see a session without a key, run: attractor demo",
		strings.Join(providers.Variables(), ", or "))
}
