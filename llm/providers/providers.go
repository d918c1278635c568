package providers

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/catalog"
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
	// Header is sent with every request, in place of headers of the format with these names.
	Header http.Header

	token bool // APIKey is a token, as commands print it
}

// Format is the wire format of a provider.
type Format string

// The formats.
const (
	Messages        Format = "Messages"         // Anthropic's
	Responses       Format = "Responses"        // OpenAI's
	GenerateContent Format = "generateContent"  // Google's
	ChatCompletions Format = "Chat Completions" // OpenAI's older one, which most others speak
)

// Kind describes a kind of provider: a row of the table of this package, or one of a program's or a
// user's own, which [Kind.Check] checks.
type Kind struct {
	Name   string
	Format Format
	// ClaudeMessages is where the models of Anthropic are reached in the format Messages, which is
	// necessary for the caching of their prompts, as a path relative to the base URL. It is used if
	// Format is another one and the URL is the provider's own. A request's options are sent in both
	// formats.
	ClaudeMessages string
	// URLs are base URLs. The first counts whose variables of the environment, as ${NAME}, are all
	// set. BaseURLVar takes precedence.
	URLs []string
	// KeyVars are the variables for the key; the first that is set counts. BaseURLVar is the
	// variable for the base URL.
	KeyVars    []string
	BaseURLVar string
	// KeyCommand is a command that prints the key, in place of KeyVars. Package attractor runs it;
	// here it is left to NewWithKey.
	KeyCommand string
	// Headers are sent with every request, in place of headers of the format with these names. A
	// value may have variables of the environment, as ${NAME}, all of which have to be set.
	Headers map[string]string
	// Body is a JSON object whose members are sent with every request, in place of those of the
	// format with these names. What the request itself sets, such as the messages, cannot be there.
	Body json.RawMessage
	// Model is the model that is used if nobody has chosen one. Empty means the first one of the
	// catalog that reasons.
	Model string
	// NeedsURL reports that there is no default base URL and that the key may be missing, as with a
	// server of your own.
	NeedsURL bool
	// Local reports that the server is one of your own which needs no key and usually runs on this
	// machine. BaseURLVar may have another address. Such a provider is never chosen automatically,
	// and FromEnv leaves it out.
	Local bool
	// Start is the command that starts a Local server.
	Start string
	// Profile is the name of the profile that suits the models. Empty means that of the provider's
	// name, else the default one.
	Profile string
	// WebSearch reports that the provider is known to run web searches for its models, as
	// package llm knows them.
	WebSearch bool
	// Recorded reports that recorded responses of the server decode. Otherwise what is known of it
	// comes from documents alone.
	Recorded bool

	// what is different
	usual                       bool               // see Candidates
	host                        string             // the end of the provider's own hosts, with ClaudeMessages
	bearer                      bool               // the key of Messages is a bearer token
	messages                    anthropic.Options  // for Messages
	responses                   openai.Options     // for Responses
	chat                        openaichat.Options // for Chat Completions
	publisher                   string             // for generateContent
	organizationVar, projectVar string             // of the environment
	addressURL                  func(address string) string
}

// Table holds kinds of providers among which one is found by its name.
type Table []Kind

// Names returns the names of the kinds.
func (t Table) Names() []string {
	var names []string
	for _, k := range t {
		names = append(names, k.Name)
	}
	return names
}

// Find returns the kind with this name. An unknown name is an [llm.ErrConfiguration] that lists the
// known ones.
func (t Table) Find(name string) (Kind, error) {
	for _, k := range t {
		if k.Name == name {
			return k, nil
		}
	}
	return Kind{}, llm.Errorf(llm.ErrConfiguration, "unknown provider %q; use one of %s", name,
		strings.Join(t.Names(), ", "))
}

// Names returns the names of [Kinds].
func Names() []string { return Kinds().Names() }

// Find returns the one of [Kinds] with this name, as [Table.Find] does.
func Find(name string) (Kind, error) { return Kinds().Find(name) }

// keyless reports whether the provider may need no key.
func (k Kind) keyless() bool { return k.Local || len(k.KeyVars) == 0 }

// Config returns the provider's configuration from the environment. set reports whether it
// suffices: with a key, or with the URL for a server that may need no key, and with the variables
// of all headers.
func (k Kind) Config(getenv func(string) string) (c Config, set bool) {
	for _, name := range k.KeyVars {
		if c.APIKey = getenv(name); c.APIKey != "" {
			break
		}
	}
	if k.projectVar != "" {
		c.Organization, c.Project = getenv(k.organizationVar), getenv(k.projectVar)
	}
	if k.BaseURLVar != "" {
		c.BaseURL = getenv(k.BaseURLVar)
	}
	switch {
	case k.addressURL != nil:
		c.BaseURL = k.addressURL(c.BaseURL)
	case c.BaseURL == "" && (c.APIKey != "" || k.keyless()):
		c.BaseURL = k.URL(getenv)
	}
	var missing []string
	c.Header, missing = k.header(nil, getenv)
	return c, c.BaseURL != "" && missing == nil
}

// FromEnv returns a client of all providers that the environment configures, with the built-in
// catalog. The only one of [Candidates] is the default. With several there is no default, and each
// request must name one. With none, the error lists the variables to set.
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
	if first := Candidates(getenv); len(first) == 1 {
		client.Default = first[0].Name
	}
	return client, nil
}

// Candidates returns the providers to choose from when none was named: the vendors of the usual
// keys, else the servers whose URL is set, else all others that the environment configures. Keys of
// the others are often meant for other programs.
func Candidates(getenv func(string) string) []Kind {
	var usual, servers, others []Kind
	for _, k := range Kinds() {
		switch _, set := k.Config(getenv); {
		case !set || k.Local:
		case k.usual:
			usual = append(usual, k)
		case k.NeedsURL:
			servers = append(servers, k)
		default:
			others = append(others, k)
		}
	}
	switch {
	case len(usual) > 0:
		return usual
	case len(servers) > 0:
		return servers
	}
	return others
}

// Variables returns the usual environment variables that configure a provider: the vendors' keys,
// and the base URL of a server of your own. The table has more.
func Variables() []string {
	var names []string
	for _, k := range Kinds() {
		switch {
		case k.NeedsURL:
			names = append(names, k.BaseURLVar)
		case k.usual:
			names = append(names, k.KeyVars[0])
		}
	}
	return names
}
