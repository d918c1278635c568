package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

const (
	defaultName    = "anthropic"
	defaultBaseURL = "https://api.anthropic.com"
	apiVersion     = "2023-06-01"
)

// Options configure a [Provider]. Only APIKey or AuthToken is required, and with a BaseURL not even
// that.
type Options struct {
	// Name is the name by which requests are routed and signed content is recognized; empty means
	// anthropic. Other servers that speak this format need another name.
	Name   string
	APIKey string
	// AuthToken is sent as a bearer token, in place of the key, which has a header of its own. Most
	// other servers that speak this format want it.
	AuthToken string
	// BaseURL is the API's URL without the version: requests go to {BaseURL}/v1/messages. Empty
	// means https://api.anthropic.com. Its query is kept.
	BaseURL string
	// ShortCache ignores Request.CacheLong, for servers that have one lifetime of the cache.
	ShortCache bool
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

// Provider implements [llm.Provider] for the Messages API. It is safe for concurrent use; create
// one with [New].
//
// Request.Options may have a JSON object for it under the provider's name. The member beta_headers
// lists beta features to enable. Every other member is sent as a parameter of the request and
// replaces the provider's own parameter of that name. The members model, system, tools, messages
// and stream are an [llm.ErrConfiguration], because the request sets them.
//
// Temperature is not sent while the model thinks, and top_p only from 0.95 on, because the API
// refuses others.
type Provider struct {
	call       api.Call
	body       json.RawMessage
	shortCache bool

	noWebSearch bool
}

// New returns a provider. A missing key or an invalid base URL is an [llm.ErrConfiguration].
func New(o Options) (*Provider, error) {
	name := cmp.Or(o.Name, defaultName)
	key := cmp.Or(o.AuthToken, o.APIKey)
	if key == "" && o.BaseURL == "" {
		return nil, api.ConfigError(name, "no API key: set Options.APIKey, or ANTHROPIC_API_KEY in the environment")
	}
	own := map[string]string{"Anthropic-Version": apiVersion, "X-Api-Key": o.APIKey}
	if o.AuthToken != "" {
		own["Authorization"], own["X-Api-Key"] = api.Bearer(o.AuthToken), ""
	}
	call, u, err := api.Config{Name: name, Key: key, BaseURL: cmp.Or(o.BaseURL, defaultBaseURL),
		Client:   o.HTTPClient,
		Timeouts: api.Timeouts{Connect: o.ConnectTimeout, FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout},
		Own:      own, Header: o.Header}.Call()
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v1") {
		u = u.JoinPath("v1")
	}
	call.URL = u.JoinPath("messages").String()
	if _, err := parseOptions(o.Body, nil); err != nil {
		return nil, err
	}
	return &Provider{call, o.Body, o.ShortCache, o.NoWebSearch}, nil
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.call.Provider }

// Stream implements [llm.Provider].
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	call := p.call
	// encode returns the error
	if o, err := parseOptions(p.body, req.Options[p.Name()]); err == nil && len(o.betas) > 0 {
		call.Header = maps.Clone(call.Header)
		call.Header["Anthropic-Beta"] = []string{strings.Join(slices.Concat(call.Header["Anthropic-Beta"], o.betas),
			",")}
	}
	x := &api.Exchange{Call: call, Request: req, Encode: p.encode,
		Decoder: func(r *api.Response) api.Decoder {
			d := newDecoder(p.Name(), req.Model, r.RateLimit)
			d.joining = api.SearchesWeb(req)
			return d
		}}
	return x.Stream(ctx)
}

// FixesEffort implements [llm.EffortFixer]: the API does not allow a change of thinking while the
// results of its calls are being sent.
func (p *Provider) FixesEffort(facts *llm.Model) bool { return facts == nil || facts.Reasoning }

// RenewsCache implements [llm.CacheRenewer]. With a budget for thinking the answer would have more
// tokens than MaxTokens. A web search that the API would go on with would run again, and be
// billed.
func (p *Provider) RenewsCache(req *llm.Request) bool {
	t, err := think(req)
	searches := pair(req.Messages, p.Name(), nil, api.SearchesWeb(api.DropHosted(req, !p.noWebSearch)))
	return err == nil && t.budget == 0 && !req.NoCache && len(searches.pending) == 0
}
