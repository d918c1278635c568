package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const (
	defaultName    = "openai"
	defaultBaseURL = "https://api.openai.com/v1"
)

// Options configure a [Provider]. Only APIKey is required, and with a BaseURL not even that.
type Options struct {
	// Name is the name by which requests are routed and reasoning is recognized; empty means
	// openai. Other servers that speak this format need another name.
	Name   string
	APIKey string
	// BaseURL is the API's URL with the version: requests go to {BaseURL}/responses. Empty means
	// https://api.openai.com/v1. Its query is kept.
	BaseURL string
	// Organization and Project are charged for the requests, if they are not the key's own.
	Organization, Project string
	// SystemMessage sends the system prompt as the first message, for servers that refuse the
	// member instructions.
	SystemMessage bool
	// NoWebSearch leaves out the web search that a request has, for servers without one.
	NoWebSearch bool
	// HTTPClient sends the requests. Nil means one with Go's defaults. Redirects are errors,
	// whatever the client's policy.
	HTTPClient *http.Client
	// Header is sent with every request, in addition to the headers that the API requires.
	Header http.Header
	// Body is a JSON object whose members are sent with every request, as those of Request.Options,
	// which take precedence.
	Body json.RawMessage
	// ConnectTimeout limits making the connection (default 10 s), IdleTimeout the time without a
	// data event while a response comes in (default 300 s), and FirstByteTimeout the time to the
	// response's headers (default IdleTimeout). A negative value means no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
}

// Provider implements [llm.Provider] for the Responses API. It is safe for concurrent use; create
// one with [New].
//
// Stop sequences are an [llm.ErrUnsupported], because the API has none. Temperature and top_p are
// not sent to models that are known to reason, because those refuse them.
//
// Request.Options may have a JSON object for it under the provider's name. Its members are sent as
// parameters of the request and replace the provider's own parameters of these names. The objects
// reasoning and text are merged member by member, and a list in include is joined with the
// provider's own. The members model, instructions, tools, input, stream, background, conversation
// and previous_response_id are an [llm.ErrConfiguration]: the request sets the first five, and the
// server never stores the conversation.
type Provider struct {
	call          api.Call
	body          json.RawMessage
	systemMessage bool
	noWebSearch   bool
}

// New returns a provider. A missing key or an invalid base URL is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	name := cmp.Or(o.Name, defaultName)
	if o.APIKey == "" && o.BaseURL == "" {
		return nil, api.ConfigError(name, "no API key: set Options.APIKey, or OPENAI_API_KEY in the environment")
	}
	call, u, err := api.Config{Name: name, Key: o.APIKey, BaseURL: cmp.Or(o.BaseURL, defaultBaseURL),
		Client:   o.HTTPClient,
		Timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout},
		Own: map[string]string{"Openai-Organization": o.Organization, "Openai-Project": o.Project,
			"Authorization": api.Bearer(o.APIKey)}, Header: o.Header}.Call()
	if err != nil {
		return nil, err
	}
	call.URL = u.JoinPath("responses").String()
	if _, err := parseOptions(o.Body, nil); err != nil {
		return nil, err
	}
	return &Provider{call, o.Body, o.SystemMessage, o.NoWebSearch}, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.call.Provider }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	x := &api.Exchange{Call: p.call, Request: req, Encode: p.encode,
		Decoder: func(r *api.Response) api.Decoder {
			d := newDecoder(p.Name(), req.Model, r.RateLimit)
			d.search = searchTool(req)
			return d
		}}
	return x.Stream(ctx)
}

// FormatsWithTools implements [llm.Formatter]: the Responses API supports text.format together with
// tools.
func (p *Provider) FormatsWithTools(string) bool { return true }
