package providertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// WireConfig configures how [Wire] tests a provider.
type WireConfig struct {
	// New returns the provider, which must send its requests through the client to the host
	// api.test.
	New func(t *testing.T, c *WireCase, client *http.Client) llm.Provider
	// Model is the model of requests without one.
	Model string
	// Endpoint is the path, with a query if there is one, of all requests; {model} stands for the
	// request's model.
	Endpoint string
	// Header names the one header that depends on the request; empty means none.
	Header string
	// Unsigned is the text by which the scripted server refuses signatures that are not its own. A
	// refusal with it is left out of the golden files, because the cases' signatures are made up.
	Unsigned string
	// RetryAfter adds an error's delay to the events section.
	RetryAfter bool
	// Update writes the golden sections instead of comparing them. Test binaries usually have a
	// flag of this name for it.
	Update bool
}

// Wire tests what a provider sends, and how it decodes responses. Every txtar file of the directory
// is a case with these sections, all of them optional:
//
//	request.json   the llm.Request; without one, the case is about the response
//	facts.json     its Facts
//	options.json   switches of the provider, for WireConfig.New
//	response.sse   the response, or response.json; status is its status when that is not 200
//
// The golden sections follow them. Those of the request are compared if the case has a request, the
// events if it has a response or if nothing was sent:
//
//	url            the request's URL, when that is not WireConfig.Endpoint
//	header         WireConfig.Header, when it was sent
//	body.json      the request's body, indented
//	refused        the refusal of the scripted server of package fakellm, if it does not accept the request
//	events         the stream's events, which must keep the contract, with the error at the end
func Wire(t *testing.T, dir string, cfg WireConfig) {
	for _, c := range WireCases(t, dir) {
		t.Run(c.Name, func(t *testing.T) {
			golden := cfg.run(t, c)
			if cfg.Update {
				c.write(t, golden)
				return
			}
			for _, g := range golden {
				if diff := cmp.Diff(c.Section(g.name), g.text); diff != "" {
					t.Errorf("%s (-want +got):\n%s", g.name, diff)
				}
			}
		})
	}
}

// goldenSection holds the expected content of a section; empty means that the section should be
// missing.
type goldenSection struct{ name, text string }

// sentCall is a request as the server received it.
type sentCall struct {
	url    string
	header http.Header
	body   []byte
}

// run streams the case's request. It returns the golden sections in the order in which they are
// written.
func (cfg WireConfig) run(t *testing.T, c *WireCase) (golden []goldenSection) {
	var sent *sentCall
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = &sentCall{url: r.URL.String(), header: r.Header, body: body}
		c.answer().ServeHTTP(w, r)
	}))
	req := c.request(t, cfg.Model)
	events, err := Contract(t, cfg.New(t, c, client).Stream(t.Context(), req))
	if c.Section("request.json") != "" {
		golden = cfg.request(t, req, sent)
	}
	var e *llm.Error
	text := renderEvents(t, events, err)
	if errors.As(err, &e) && cfg.RetryAfter && e.RetryAfter > 0 {
		text += fmt.Sprintf("retry after %v\n", e.RetryAfter)
	}
	if c.Section("response.sse")+c.Section("response.json") != "" || sent == nil {
		golden = append(golden, goldenSection{"events", text})
	}
	return golden
}

// request returns the golden sections of what was sent, or nil if nothing was.
func (cfg WireConfig) request(t *testing.T, req *llm.Request, sent *sentCall) []goldenSection {
	var url, header, body, refused string
	if sent != nil {
		if sent.url != strings.ReplaceAll(cfg.Endpoint, "{model}", req.Model) {
			url = sent.url + "\n"
		}
		if values := sent.header.Values(cfg.Header); len(values) > 0 {
			header = strings.ToLower(cfg.Header) + ": " + strings.Join(values, " | ") + "\n"
		}
		body = indent(t, sent.body)
		refused = Refusal(t, sent.url, sent.header, sent.body)
		if cfg.Unsigned != "" && strings.Contains(refused, cfg.Unsigned) {
			refused = ""
		}
	}
	return []goldenSection{{"url", url}, {"header", header}, {"body.json", body}, {"refused", refused}}
}

func indent(t *testing.T, body []byte) string {
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Errorf("the body is no JSON: %v\n%s", err, body)
	}
	return b.String() + "\n"
}

// Refusal sends a body to the scripted server of package fakellm, which is as strict as the API
// that the URL's path belongs to. It returns the refusal with a line end, or "" if the server
// accepts the body. The URL needs no host.
func Refusal(t testing.TB, url string, header http.Header, body []byte) string {
	t.Helper()
	if strings.HasPrefix(url, "/") {
		url = "http://api.test" + url
	}
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := llmtest.PipeClient(t, fakellm.New(fakellm.Script(), fakellm.Options{})).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK {
		return ""
	}
	return fmt.Sprintf("%s\n", text)
}
