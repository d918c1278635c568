package gemini

import (
	"cmp"
	"context"
	"encoding/json"
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

// Options configure a [Provider]. Only APIKey is required, and with a BaseURL not even that.
type Options struct {
	// Name is the name by which requests are routed and signed content is recognized; empty means
	// gemini. Other servers that speak this format need another name.
	Name string
	// APIKey is sent in the header x-goog-api-key, never in a URL. AuthToken is an OAuth token,
	// which is sent as a bearer token in place of the key.
	APIKey, AuthToken string
	// BaseURL is the API's URL, where requests go to
	// {BaseURL}/v1beta/models/{model}:streamGenerateContent?alt=sse. Without Publisher, /v1beta at
	// its end makes no difference. Empty means https://generativelanguage.googleapis.com.
	BaseURL string
	// Publisher names whose models they are, as Vertex AI has it: requests then go to
	// {BaseURL}/publishers/{Publisher}/models/{model}:streamGenerateContent?alt=sse, and BaseURL
	// has the version.
	Publisher string
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
	// chunk while a response comes in (default 300 s), and FirstByteTimeout the time to the
	// response's headers (default IdleTimeout). A negative value means no limit.
	ConnectTimeout, FirstByteTimeout, IdleTimeout time.Duration
}

// Provider implements [llm.Provider] for generateContent. It is safe for concurrent use; create one
// with [New].
//
// Request.Options may have a JSON object for it under the provider's name. Its members
// (safetySettings, labels, ...) are sent as parameters of the request and replace the provider's
// own parameters of these names. The members of generationConfig replace single members of ours.
// With cachedContent, the system prompt, the tools and the tool choice are those of the cached
// content and are not sent. The members model, contents, systemInstruction and tools are an
// [llm.ErrConfiguration], because the request sets them.
//
// Request.Sequential has no effect, because the API has no such option. Parallel calls may come all
// the same.
//
// A call without an id gets one derived from the response's id. Signatures of other authors are not
// sent. Models from Gemini 3 on refuse calls without a signature, so for them the first call of
// another author's response gets the dummy that Google documents for this.
type Provider struct {
	call        api.Call
	body        json.RawMessage
	noWebSearch bool
}

// New returns a provider. A missing key or an invalid base URL is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	name := cmp.Or(o.Name, defaultName)
	key := cmp.Or(o.AuthToken, o.APIKey)
	if key == "" && o.BaseURL == "" {
		return nil, api.ConfigError(name, "no API key: set Options.APIKey, or GEMINI_API_KEY in the environment")
	}
	base := cmp.Or(o.BaseURL, defaultBaseURL)
	own := map[string]string{"X-Goog-Api-Key": o.APIKey}
	if o.AuthToken != "" {
		own = map[string]string{"Authorization": api.Bearer(o.AuthToken)}
	}
	call, u, err := api.Config{Name: name, Key: key, BaseURL: base, Client: o.HTTPClient,
		Timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout},
		Own:      own, Header: o.Header}.Call()
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, api.ConfigError(name,
			"the base URL must not have a query or a fragment; set the key with Options.APIKey")
	}
	base = strings.TrimRight(base, "/")
	if o.Publisher != "" {
		base += "/publishers/" + url.PathEscape(o.Publisher)
	} else {
		base = strings.TrimSuffix(base, apiVersion) + apiVersion
	}
	call.URL, call.Decode = base+"/", decodeError
	if _, err := parseOptions(o.Body, nil); err != nil {
		return nil, err
	}
	return &Provider{call, o.Body, o.NoWebSearch}, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.call.Provider }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	call := p.call
	call.URL = p.endpoint(req.Model)
	x := &api.Exchange{Call: call, Request: req, Encode: p.encode,
		Decoder: func(r *api.Response) api.Decoder { return newDecoder(p.Name(), req, r.RateLimit) }}
	return x.Stream(ctx)
}

// endpoint returns the URL of a model's requests. An id with a slash names its collection itself,
// such as tunedModels/x.
func (p *Provider) endpoint(model string) string {
	if !strings.Contains(model, "/") {
		model = "models/" + model
	}
	return p.call.URL + (&url.URL{Path: model}).EscapedPath() + ":streamGenerateContent?alt=sse"
}

// FormatsWithTools implements [llm.Formatter]: models up to 2.5 refuse a response schema together
// with tools.
func (p *Provider) FormatsWithTools(model string) bool { return familyOf(model) == gemini3 }
