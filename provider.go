package attractor

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/providers"
)

// connect returns a client with the chosen provider and the fallbacks' providers, and the name of
// the chosen one.
func (c *config) connect() (*llm.Client, string, error) {
	chosen, err := c.chooseProvider()
	if err != nil {
		return nil, "", err
	}
	provider, err := c.provider(chosen, c.BaseURL)
	if err != nil {
		return nil, "", err
	}
	client := &llm.Client{Providers: []llm.Provider{provider}, Models: c.catalog().Get}
	for _, m := range c.Fallbacks {
		if _, err := client.Provider(m.Provider); err == nil {
			continue
		}
		if err := c.checkProviderName(m.Provider); err != nil {
			return nil, "", err
		}
		if provider, err = c.provider(m.Provider, ""); err != nil {
			return nil, "", fail(ErrFallback, "the fallback %s/%s: %w", m.Provider, m.Model, err)
		}
		client.Providers = append(client.Providers, provider)
	}
	return client, chosen, nil
}

// catalog returns what is known about models.
func (c *config) catalog() *catalog.Catalog {
	if len(c.Models) == 0 {
		return catalog.New()
	}
	models := slices.Clone(c.Models)
	for i := range models { // a price does not give a provider a search that it does not run
		if kind, err := c.table().Find(models[i].Provider); err == nil && !kind.WebSearch {
			models[i].WebSearch = 0
		}
	}
	return catalog.New().With(models...)
}

// own returns the program's own provider of a name, or nil.
func (c *config) own(name string) llm.Provider {
	if i := slices.IndexFunc(c.Providers, func(p llm.Provider) bool { return p.Name() == name }); i >= 0 {
		return c.Providers[i]
	}
	return nil
}

// checkProviderName returns an error unless there is a provider of this name.
func (c *config) checkProviderName(name string) error {
	if c.own(name) != nil {
		return nil
	}
	_, err := findProvider(c.table(), name)
	return err
}

// table returns the providers that the library knows, and the program's and the user's own.
func (c *config) table() providers.Table { return append(providers.Kinds(), c.Kinds...) }

// useNamed takes over the providers of the user's settings. Those of the program with their names
// count before them, and so does what the program says of models.
func (c *config) useNamed() {
	var models []llm.Model
	for _, named := range c.values.Named() {
		if _, err := c.table().Find(named.Name); err == nil {
			continue
		}
		c.Kinds = append(c.Kinds, named.Kind)
		models = append(models, named.Models...)
	}
	c.Models = append(models, c.Models...)
}

// provider returns the provider of a name: the program's own, or that of a vendor with its key and
// URL.
func (c *config) provider(name, baseURL string) (llm.Provider, error) {
	switch own := c.own(name); {
	case own != nil && baseURL != "":
		return nil, fail(ErrConfig,
			"the provider %s is the program's own, which knows its server: leave the base URL out", name)
	case own != nil:
		return own, nil
	}
	kind, err := findProvider(c.table(), name)
	if err != nil {
		return nil, err
	}
	return c.newProvider(kind, baseURL)
}

// checkProvider returns an error if the environment lacks what the chosen provider of a new session
// needs. It makes no request.
func (c config) checkProvider() error {
	c.useDefaults()
	_, _, err := c.connect()
	return err
}

// keyCommandOf returns the command that prints the key of a provider, or "".
func (c *config) keyCommandOf(kind providers.Kind) string {
	if kind.Name == value(c.chosen.provider) {
		return cmp.Or(c.KeyCommand, kind.KeyCommand)
	}
	return kind.KeyCommand
}

// newProvider returns a provider with its key and URL from the environment. A base URL takes
// precedence over the environment's.
func (c *config) newProvider(kind providers.Kind, baseURL string) (llm.Provider, error) {
	command := c.keyCommandOf(kind)
	config, _ := kind.Config(func(name string) string {
		if command != "" && slices.Contains(kind.KeyVars, name) {
			return "as the command says" // so that the URL is known
		}
		return c.getenv(name)
	})
	config.BaseURL = cmp.Or(baseURL, config.BaseURL)
	config.IdleTimeout, config.HTTPClient = c.IdleTimeout, c.client
	var provider llm.Provider
	var err error
	switch credentials := c.Credentials[kind.Name]; {
	case command != "" && config.BaseURL != "":
		provider, err = kind.NewWithKey(config, func(ctx context.Context) (string, error) {
			return c.runKeyCommand(ctx, command)
		})
	case credentials != nil && config.APIKey == "":
		provider, err = kind.NewWithCredentials(config, c.masked(credentials))
	case kind.NeedsURL && config.BaseURL == "":
		return nil, fail(ErrNoServer, "the provider %s needs the URL of its server: set %s", kind.Name, kind.BaseURLVar)
	case config.APIKey == "" && config.BaseURL == "" && kind.BaseURLVar != "":
		return nil, fail(ErrNoKey, "no API key: set %s, or %s for a server that needs none",
			strings.Join(kind.KeyVars, " or "), kind.BaseURLVar)
	case config.APIKey == "" && config.BaseURL == "" && kind.KeyVars != nil:
		lacks := slices.DeleteFunc(kind.Variables(), func(name string) bool { return c.getenv(name) != "" })
		return nil, fail(ErrNoKey, "no API key: %s needs %s in the environment", kind.Name,
			strings.Join(lacks, " and "))
	default:
		provider, err = kind.New(config)
	}
	if err != nil {
		return nil, fail(ErrConfig, "%w", err)
	}
	return provider, nil
}

// chooseProvider returns the name of the chosen provider, else of the one that the model's name
// says, else of the only candidate in the environment. It does not guess among several.
func (c *config) chooseProvider() (string, error) {
	if name := value(c.chosen.provider); name != "" {
		return name, c.checkProviderName(name)
	}
	candidates := providers.Candidates(c.getenv)
	if name := c.providerOfModel(candidates); name != "" {
		return name, nil
	}
	var names []string
	for _, kind := range candidates {
		names = append(names, kind.Name)
	}
	model := value(c.chosen.model)
	named := model != "" && c.checkProviderName(model) == nil
	switch {
	case named && c.BaseURL == "" && !slices.ContainsFunc(candidates, c.hasSlashes):
		return "", fail(ErrNoModel, "%[1]q is a provider and no model, such as %[1]s/MODEL", model)
	case len(names) == 1:
		return names[0], nil
	case len(names) > 1:
		return "", fail(ErrNoProvider, "the environment has keys of several providers: %s", strings.Join(names, ", "))
	case c.BaseURL != "":
		return "", fail(ErrNoProvider, "a base URL needs a provider, such as openai-compatible for a server of "+
			"your own")
	}
	switch own := c.ownWith(model); {
	case own != "" && model == "":
		return "", fail(ErrNoProvider, "no model was chosen, such as %s/MODEL, and there is no key of a vendor", own)
	case own != "":
		return "", fail(ErrNoProvider, "no provider was chosen for the model %q, such as in %s/%[1]s, and there is "+
			"no key of a vendor", model, own)
	}
	for _, kind := range providers.Kinds() {
		config, set := kind.Config(c.getenv)
		if config.APIKey == "" || set || kind.NeedsURL {
			continue
		}
		if _, err := kind.New(config); err != nil { // it has a key, and nothing that says where it is
			return "", fail(ErrConfig, "%w", err)
		}
	}
	return "", fail(ErrNoKey, "no API key: set %s, or the key of another provider, which attractor models "+
		"--providers lists", strings.Join(providers.Variables(), ", or "))
}

// ofProgram reports whether a provider is the program's own.
func (c *config) ofProgram(name string) bool {
	if c.own(name) != nil {
		return true
	}
	_, err := providers.Find(name)
	return err != nil && !slices.ContainsFunc(c.values.Named(), func(n settings.Named) bool { return n.Name == name })
}

// ownWith returns the name of the first of the program's and the user's own providers that is known
// to have a model, else of the first one, or "".
func (c *config) ownWith(model string) string {
	var names []string
	for _, kind := range c.Kinds {
		names = append(names, kind.Name)
	}
	for _, p := range c.Providers {
		names = append(names, p.Name())
	}
	if len(names) == 0 {
		return ""
	}
	first := slices.IndexFunc(names, func(name string) bool {
		_, has := c.catalog().Get(name, model)
		return has
	})
	return names[max(first, 0)]
}

// providerOfModel returns the only candidate whose catalog has the chosen model, or the provider of
// a name as provider/model, which it takes apart. It returns "" where neither is certain: a
// candidate may have a model whose own name has a slash.
func (c *config) providerOfModel(candidates []providers.Kind) string {
	model := value(c.chosen.model)
	if model == "" || c.BaseURL != "" {
		return ""
	}
	known := slices.DeleteFunc(slices.Clone(candidates), func(kind providers.Kind) bool {
		_, has := c.catalog().Get(kind.Name, newestOf(kind.Name, model))
		return !has
	})
	name, rest, both := strings.Cut(model, "/")
	other := func(kind providers.Kind) bool { return both && kind.Name == name }
	if len(known) == 1 && !slices.ContainsFunc(candidates, other) {
		return known[0].Name
	}
	if !both || c.checkProviderName(name) != nil || slices.ContainsFunc(candidates, c.hasSlashes) {
		return ""
	}
	c.chosen.provider, c.chosen.model = &name, &rest
	return name
}

// useNamedByModel takes the model that counts apart where the name in front of it is certain to be
// a provider's: the chosen one, if that has the rest and not the whole as a model, or another one,
// if the chosen one stands in a lower place and is a vendor whose models have no slashes. A session
// that goes on has a provider of its own, which fillIn compares with.
func (c *config) useNamedByModel(goesOn bool) {
	model, provider := c.values.Get("model"), c.values.Get("provider")
	name, rest, both := strings.Cut(model.One(), "/")
	if provider == nil || !both || rest == "" {
		return
	}
	if name == provider.One() {
		_, whole := c.catalog().Get(name, model.One())
		if _, has := c.catalog().Get(name, rest); has && !whole {
			c.values.SplitModel(name, rest)
		}
		return
	}
	kind, err := providers.Find(provider.One())
	if err != nil || goesOn || model.Origin.Place <= provider.Origin.Place || c.checkProviderName(name) != nil ||
		c.values.Get("base_url") != nil || c.hasSlashes(kind) {
		return
	}
	c.values.SplitModel(name, rest)
}

// hasSlashes reports whether models of a provider may have names with a slash: those of a server
// that the environment names, and of one that offers models of others.
func (c *config) hasSlashes(kind providers.Kind) bool {
	models := c.catalog().List(kind.Name)
	return c.getenv(kind.BaseURLVar) != "" || len(models) == 0 ||
		slices.ContainsFunc(models, func(m llm.Model) bool { return strings.Contains(m.ID, "/") })
}

// findProvider returns the provider of a table with that name.
func findProvider(table providers.Table, name string) (providers.Kind, error) {
	kind, err := table.Find(name)
	if err != nil {
		names := table.Names()
		if near := texts.Near(strings.ReplaceAll(name, ".", ""), names); len(near) > 0 {
			return kind, fail(ErrConfig, "unknown provider %q; do you mean %s?", name, strings.Join(near, " or "))
		}
		return kind, fail(ErrConfig,
			"unknown provider %q (a model is named as provider/model); the providers are %s. Any server of Chat "+
				"Completions is openai-compatible", name,
			strings.Join(names, ", "))
	}
	return kind, nil
}
