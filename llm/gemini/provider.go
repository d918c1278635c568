package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const (
	defaultName    = "gemini"
	defaultBaseURL = "https://generativelanguage.googleapis.com"
	apiVersion     = "/v1beta"
)

// Options configure a [Provider]. Only APIKey is required, and not even that with a BaseURL of one's own.
type Options struct {
	// Name is what requests are routed by and what signed content is tied to; empty means gemini. Servers that speak the same
	// format need another one.
	Name string
	// APIKey goes into the header x-goog-api-key, never into a URL.
	APIKey string
	// BaseURL is where the API is, without the version: calls go to
	// {BaseURL}/v1beta/models/{model}:streamGenerateContent?alt=sse. Empty means https://generativelanguage.googleapis.com.
	BaseURL string
	// HTTPClient sends the calls; nil means one with Go's defaults. Its redirect policy is ignored: redirects are errors.
	HTTPClient *http.Client
	// Header is sent with every call, on top of what the API demands.
	Header http.Header
	// ConnectTimeout bounds making the connection (default 10 s), IdleTimeout the time without a chunk while the answer comes in
	// (default 300 s), and FirstByteTimeout the time to the answer's headers (default IdleTimeout). Negative values mean no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
}

// Provider calls models through generateContent. It is safe for concurrent use; make one with [New].
//
// Request.Options has a JSON object for it under the provider's name. Its members are parameters of the request
// (safetySettings, labels, ...) and are sent as they are, in place of the provider's own of that name; those of its
// generationConfig take the place of single members of ours. With cachedContent, the system prompt, the tools and the tool
// choice are those of the cached content, and are not sent. The members model, contents, systemInstruction and tools are an
// [llm.ErrConfiguration]: the request says them itself.
//
// A call that comes without an id gets one that is made of the answer's id. History of another author goes without its
// signatures; models from Gemini 3 on refuse calls without one, so there the first call of such an answer bears the dummy
// that Google documents for this.
type Provider struct {
	name     string
	url      string
	header   http.Header
	client   *http.Client
	timeouts api.Timeouts
	secrets  []string
}

// New makes a provider. A missing key, or a base URL that is none, is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	name := o.Name
	if name == "" {
		name = defaultName
	}
	if o.APIKey == "" && o.BaseURL == "" {
		return nil, api.ConfigError(name, "no API key: set Options.APIKey, or GEMINI_API_KEY in the environment")
	}
	base := o.BaseURL
	if base == "" {
		base = defaultBaseURL
	}
	u, err := api.BaseURL(name, o.APIKey, base)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, api.ConfigError(name, "the base URL has a query or a fragment; the key belongs into Options.APIKey")
	}
	header := api.Header(o.Header)
	p := &Provider{name: name, url: strings.TrimSuffix(strings.TrimRight(base, "/"), apiVersion) + apiVersion + "/", header: header,
		client:   o.HTTPClient,
		timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout}}
	if o.APIKey != "" {
		header["X-Goog-Api-Key"] = []string{o.APIKey}
		p.secrets = []string{o.APIKey}
	}
	return p, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.name }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return api.Stream(ctx, p.name, func() (*api.Call, error) { return p.call(req) }, func(r *api.Response) api.Decoder {
		return newDecoder(p.name, req, r.RateLimit)
	})
}

// call encodes a request.
func (p *Provider) call(req *llm.Request) (*api.Call, error) {
	body, err := p.encode(req)
	if err != nil {
		return nil, err
	}
	return &api.Call{Provider: p.name, URL: p.endpoint(req.Model), Header: p.header, Body: body, Client: p.client, Timeouts: p.timeouts,
		Secrets: p.secrets, Decode: decodeError}, nil
}

// endpoint returns where a model is called. An id with a slash names its collection itself, such as tunedModels/x.
func (p *Provider) endpoint(model string) string {
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	return p.url + (&url.URL{Path: model}).EscapedPath() + ":streamGenerateContent?alt=sse"
}

// FormatsWithTools implements [llm.Formatter]: models up to 2.5 refuse a response schema together with tools.
func (p *Provider) FormatsWithTools(model string) bool { return familyOf(model) == gemini3 }
