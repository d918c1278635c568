package providers

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/gemini"
	"github.com/attractor-go/attractor/llm/openai"
	"github.com/attractor-go/attractor/llm/openaichat"
)

// Config holds the configuration that all providers share. Empty fields mean the provider's
// defaults.
type Config struct {
	APIKey, BaseURL string
	// Organization and Project are OpenAI's.
	Organization, Project string
	HTTPClient            *http.Client
	// IdleTimeout limits every wait for the server, also for the headers of its response.
	IdleTimeout time.Duration
}

// Kind describes a kind of provider: its name, its environment variables, and how to create it.
type Kind struct {
	Name string
	// KeyVars are the variables for the key; the first that is set counts. BaseURLVar is the
	// variable for the base URL.
	KeyVars    []string
	BaseURLVar string
	// NeedsURL reports that there is no default base URL and that the key may be missing, as with a
	// server of your own. Programs choose such a provider by themselves only if no other one is
	// configured.
	NeedsURL bool
	// Local reports that the server is one of your own which needs no key and usually runs on this
	// machine. BaseURLVar may have another address. Such a provider is never chosen automatically,
	// and FromEnv leaves it out.
	Local bool
	New   func(Config) (llm.Provider, error)
}

// Kinds returns all kinds of providers. The variables are those of the vendors' own SDKs.
func Kinds() []Kind {
	return []Kind{
		{Name: "anthropic", KeyVars: []string{"ANTHROPIC_API_KEY"}, BaseURLVar: "ANTHROPIC_BASE_URL",
			New: newAnthropic},
		{Name: "openai", KeyVars: []string{"OPENAI_API_KEY"}, BaseURLVar: "OPENAI_BASE_URL", New: newOpenAI},
		{Name: "gemini", KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, BaseURLVar: "GEMINI_BASE_URL",
			New: newGemini},
		{Name: "openai-compatible", KeyVars: []string{"OPENAI_COMPATIBLE_API_KEY", "OPENAI_API_KEY"},
			BaseURLVar: "OPENAI_COMPATIBLE_BASE_URL", NeedsURL: true, New: newCompatible},
		{Name: "openrouter", KeyVars: []string{"OPENROUTER_API_KEY"}, BaseURLVar: "OPENROUTER_BASE_URL",
			New: newOpenRouter},
		{Name: "ollama", BaseURLVar: "OLLAMA_HOST", Local: true, New: newOllama},
	}
}

// Names returns the providers' names.
func Names() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Find returns the kind with this name. An unknown name is an [llm.ErrConfiguration] that lists the
// known ones.
func Find(name string) (Kind, error) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, llm.Errorf(llm.ErrConfiguration, "unknown provider %q; use one of %s", name,
		strings.Join(Names(), ", "))
}

// Config returns the provider's configuration from the environment. set reports whether it
// suffices: with a key, or with a base URL for a server that may need no key.
func (k Kind) Config(getenv func(string) string) (c Config, set bool) {
	for _, name := range k.KeyVars {
		if c.APIKey = getenv(name); c.APIKey != "" {
			break
		}
	}
	c.BaseURL = getenv(k.BaseURLVar)
	switch k.Name {
	case "openai":
		c.Organization, c.Project = getenv("OPENAI_ORG_ID"), getenv("OPENAI_PROJECT_ID")
	case "ollama":
		c.BaseURL = ollamaURL(c.BaseURL)
	}
	return c, c.BaseURL != "" || c.APIKey != "" && !k.NeedsURL
}

// FromEnv returns a client of all providers that the environment configures, with the built-in
// catalog. A single provider is the default. With several there is no default, and each request
// must name one. With none, the error lists the variables to set.
//
//	client, err := providers.FromEnv(os.Getenv)
func FromEnv(getenv func(string) string) (*llm.Client, error) {
	client := &llm.Client{Models: catalog.New().Get}
	for _, k := range Kinds() {
		config, set := k.Config(getenv)
		if !set || k.Local {
			continue
		}
		p, err := k.New(config)
		if err != nil {
			return nil, err
		}
		client.Providers = append(client.Providers, p)
	}
	if len(client.Providers) == 0 {
		return nil, llm.Errorf(llm.ErrConfiguration, "no API key: set %s", strings.Join(Variables(), ", or "))
	}
	return client, nil
}

// Variables returns the environment variables that configure a provider: the vendors' keys, and the
// base URL of a server of your own.
func Variables() []string {
	var names []string
	for _, k := range Kinds() {
		switch {
		case k.NeedsURL:
			names = append(names, k.BaseURLVar)
		case !k.Local:
			names = append(names, k.KeyVars[0])
		}
	}
	return names
}

func newAnthropic(c Config) (llm.Provider, error) {
	return orNil(anthropic.New(anthropic.Options{APIKey: c.APIKey, BaseURL: c.BaseURL, HTTPClient: c.HTTPClient,
		IdleTimeout: c.IdleTimeout}))
}

func newOpenAI(c Config) (llm.Provider, error) {
	return orNil(openai.New(openai.Options{APIKey: c.APIKey, BaseURL: c.BaseURL, Organization: c.Organization,
		Project:    c.Project,
		HTTPClient: c.HTTPClient, IdleTimeout: c.IdleTimeout}))
}

func newGemini(c Config) (llm.Provider, error) {
	return orNil(gemini.New(gemini.Options{APIKey: c.APIKey, BaseURL: c.BaseURL, HTTPClient: c.HTTPClient,
		IdleTimeout: c.IdleTimeout}))
}

func newCompatible(c Config) (llm.Provider, error) { return newChat("", c) }

// openRouterURL is where OpenRouter's API is. Its optional headers, which list the program on
// OpenRouter's site, are not sent.
const openRouterURL = "https://openrouter.ai/api/v1"

func newOpenRouter(c Config) (llm.Provider, error) {
	c.BaseURL = cmp.Or(c.BaseURL, openRouterURL)
	if c.APIKey == "" && c.BaseURL == openRouterURL {
		return nil, llm.Errorf(llm.ErrConfiguration, "no API key: set OPENROUTER_API_KEY in the environment")
	}
	return newChat("openrouter", c)
}

func newOllama(c Config) (llm.Provider, error) {
	if !strings.Contains(c.BaseURL, "?") { // a query stays as it is
		c.BaseURL = ollamaURL(c.BaseURL)
	}
	return newChat("ollama", c)
}

// newChat returns a provider that speaks Chat Completions.
func newChat(name string, c Config) (llm.Provider, error) {
	return orNil(openaichat.New(openaichat.Options{Name: name, APIKey: c.APIKey, BaseURL: c.BaseURL,
		HTTPClient: c.HTTPClient, IdleTimeout: c.IdleTimeout}))
}

// orNil keeps a nil pointer from becoming a non-nil interface.
func orNil[P llm.Provider](p P, err error) (llm.Provider, error) {
	if err != nil {
		return nil, err
	}
	return p, nil
}
