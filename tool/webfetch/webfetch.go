package webfetch

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/attractor-go/attractor/internal/netguard"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Name is the name of the tool.
const Name = "web_fetch"

// Options are the host's choices. The zero value fetches from public hosts.
type Options struct {
	// Allow lists hosts that may be fetched from although they are not public, such as
	// "localhost:8080" and "10.1.2.3". A host without a port stands for its ports 80 and 443.
	Allow []string
	// Resolver resolves names. Nil means the system's.
	Resolver *net.Resolver
	// TLS is the configuration for https, such as the certificates of a company. Nil means Go's
	// default.
	TLS *tls.Config
	// Timeout limits a call, from the look-up of the name to the end of the page. Zero means 30
	// seconds.
	Timeout time.Duration
}

type args struct {
	URL    string `json:"url" jsonschema:"The page's address, with http:// or https://."`
	Prompt string `json:"prompt,omitempty" jsonschema:"What you are looking for on the page. It is repeated in front of the text."`
}

// New returns the tool. The error says which of the hosts in Options.Allow is wrong.
func New(o Options) (tool.Tool, error) {
	f, err := newFetcher(o)
	if err != nil {
		return tool.Tool{}, err
	}
	return f.tool(), nil
}

// tool returns the tool that fetches with f.
func (f *fetcher) tool() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: Name,
		Description: "Fetches a public web page and returns its text: HTML as Markdown, other text and JSON as they " +
			"are. It sends no cookies and no keys, so it cannot read what needs a login. A redirect to another host " +
			"is reported and not followed.",
	}, f.run)
	t.Access = f.access
	t.Limit = tool.Limit{Chars: 50_000, Keep: tool.KeepHead}
	t.Instead = []tool.Instead{{Of: []string{"WebFetch", "fetch", "fetch_url", "read_url", "browse", "open_url"}}}
	return t
}

// access names the host that a call would connect to.
func (f *fetcher) access(text string) (tool.Access, error) {
	a, err := tool.Decode[args](text)
	if err != nil {
		return tool.Access{}, err
	}
	p, err := f.page(a.URL)
	if err != nil {
		return tool.Access{}, err
	}
	return tool.Access{Effect: tool.ReadOnly, Hosts: []string{p.host}}, nil
}

// page holds the place of a page.
type page struct {
	*url.URL
	host string // as [tool.Access] has it: without the port if it is the scheme's own
}

// page returns the place that a URL names. It refuses one whose text says that it leads to a host
// that may not be reached.
func (f *fetcher) page(text string) (page, error) {
	u, host, port, err := f.guard.URL(strings.TrimSpace(text))
	if err != nil {
		return page{}, fmt.Errorf("the URL cannot be fetched: %w", err)
	}
	p := page{u, host.String()}
	if u.Scheme == "http" && port != 80 || u.Scheme == "https" && port != 443 {
		p.host = host.WithPort(port)
	}
	return p, nil
}

// summary is the result for programs.
type summary struct {
	URL         string `json:"url"` // after redirects
	Status      int    `json:"status"`
	ContentType string `json:"content_type,omitempty"`
	Bytes       int    `json:"bytes"`
	Redirect    string `json:"redirect,omitempty"` // where the page is, if that is another host
}

// run fetches a page.
func (f *fetcher) run(ctx context.Context, call *tool.Call, a args) (tool.Result, error) {
	p, err := f.page(a.URL)
	if err != nil {
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, errSlow)
	defer cancel()
	got, err := f.fetch(ctx, p)
	if err != nil {
		return tool.Result{}, f.explain(ctx, p, err)
	}
	result := tool.Result{IsError: got.Status >= 400}
	var text string
	if got.Redirect != "" {
		text = fmt.Sprintf("%s redirects to another host: %s\nThe redirect was not followed. To read that page, call "+
			"%s with its URL.", got.URL, got.Redirect, call.Name)
	} else if text, err = got.render(ctx, a.Prompt); err != nil {
		return tool.Result{}, f.explain(ctx, p, err)
	}
	result.Content = llm.TextParts(text)
	result.Structured, err = json.Marshal(got.summary)
	return result, err
}

var (
	errSlow   = errors.New("the time for fetching is over")
	errTooBig = errors.New("the page is too big")
)

// explain returns an error that tells the model what to do about it.
func (f *fetcher) explain(ctx context.Context, p page, err error) error {
	var refused *netguard.Error
	var dns *net.DNSError
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return fmt.Errorf("%s was not fetched: it took more than %v; try again later, or another source", p, f.timeout)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &refused) && errors.As(err, new(*net.OpError)): // of a connection, whose error says much else
		return fmt.Errorf("%s cannot be fetched: %w; only public hosts can", p, refused)
	case errors.Is(err, errTooBig):
		return fmt.Errorf("%s is bigger than %d MB, which is the most that can be fetched; look for a smaller page", p,
			maxPage>>20)
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%s was not fetched: there is no host %s; check the URL", p, dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s was not fetched: %s refuses connections", p, p.host)
	case errors.As(err, new(tls.RecordHeaderError)):
		return fmt.Errorf("%s was not fetched: the server does not speak https; try http", p)
	}
	return fmt.Errorf("%s was not fetched: %w", p, err)
}
