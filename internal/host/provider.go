package host

import (
	"cmp"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
)

// connect returns a client of the provider that is chosen, and the provider's name.
func (c *Config) connect() (*llm.Client, string, error) {
	kind, err := c.chooseProvider()
	if err != nil {
		return nil, "", err
	}
	config, _ := kind.Config(c.getenv)
	config.BaseURL = cmp.Or(c.BaseURL, config.BaseURL)
	config.IdleTimeout = c.IdleTimeout
	switch {
	case kind.NeedsURL && config.BaseURL == "":
		return nil, "", fail(ErrNoServer, "the provider %s needs the URL of its server: set %s", kind.Name, kind.BaseURLVar)
	case config.APIKey == "" && config.BaseURL == "":
		return nil, "", fail(ErrNoKey, "no API key: set %s, or %s for a server that needs none", strings.Join(kind.KeyVars, " or "), kind.BaseURLVar)
	}
	provider, err := kind.New(config)
	if err != nil {
		return nil, "", fail(ErrConfig, "%w", err)
	}
	return &llm.Client{Providers: []llm.Provider{provider}, Models: catalog.New().Get}, kind.Name, nil
}

// chooseProvider returns the provider that is named, else the one whose key or base URL is in the environment. It never guesses.
func (c *Config) chooseProvider() (providers.Kind, error) {
	if name := value(c.Provider); name != "" {
		kind, err := providers.Find(name)
		if err != nil {
			return kind, fail(ErrConfig, "%w", err)
		}
		return kind, nil
	}
	var set []providers.Kind
	var names []string
	for _, kind := range providers.Kinds() {
		if _, ok := kind.Config(c.getenv); ok && !kind.NeedsURL {
			set = append(set, kind)
			names = append(names, kind.Name)
		}
	}
	switch {
	case len(set) == 1:
		return set[0], nil
	case len(set) > 1:
		return providers.Kind{}, fail(ErrNoProvider, "the environment has keys of several providers: %s", strings.Join(names, ", "))
	case c.BaseURL != "":
		return providers.Kind{}, fail(ErrNoProvider, "a base URL needs a provider: %s", strings.Join(providers.Names(), ", "))
	}
	return providers.Kind{}, fail(ErrNoKey, "no API key: set %s", strings.Join(providers.Variables(), ", or "))
}
