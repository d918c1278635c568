package web_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/web"
)

// viewer is a server on a loopback port, and a client with its token.
type viewer struct {
	testing.TB
	base, token string
	client      *http.Client
	stop        func() // ends the server and waits for it
}

// view serves the page until the end of the test.
func view(t testing.TB, o web.Options) *viewer {
	t.Helper()
	if o.Store == nil {
		o.Store = journal.NewDir(t.TempDir())
	}
	l, err := web.Listen(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	server := web.New(o)
	page, err := url.Parse(server.URL(l, ""))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		defer close(served)
		served <- server.Serve(ctx, l)
	}()
	transport := &http.Transport{}
	v := &viewer{TB: t, base: "http://" + page.Host, token: strings.TrimPrefix(page.Fragment, "token="),
		client: &http.Client{Transport: transport}}
	v.stop = func() {
		cancel()
		if err := <-served; err != nil { // nil if it was received before
			t.Errorf("the server ended with %v", err)
		}
		transport.CloseIdleConnections()
	}
	t.Cleanup(v.stop)
	return v
}

// answer is an answer of the server.
type answer struct {
	status int
	header http.Header
	body   string
}

// request makes a request of the page itself, with other headers on top. A header without a value
// is left out. The header Host names another host.
func (v *viewer) request(method, path, body string, headers map[string]string) *http.Request {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, v.base+path, strings.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+v.token)
	if method == http.MethodPost {
		r.Header.Set("Origin", v.base)
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		switch {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

// do makes a request and reads its answer.
func (v *viewer) do(method, path, body string, headers map[string]string) answer {
	v.Helper()
	resp, err := v.client.Do(v.request(method, path, body, headers))
	if err != nil {
		v.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		v.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// get decodes the JSON of a path.
func (v *viewer) get(path string, to any) {
	v.Helper()
	got := v.do("GET", path, "", nil)
	if got.status != http.StatusOK {
		v.Fatalf("GET %s: %d %s", path, got.status, got.body)
	}
	if err := json.Unmarshal([]byte(got.body), to); err != nil {
		v.Fatalf("GET %s: %v in %s", path, err, got.body)
	}
}

// Only requests of the page itself, by a loopback name and with the token, get an answer.
func TestN5_RequestsOfOthersAreRefused(t *testing.T) {
	v := view(t, web.Options{})
	port := v.base[strings.LastIndex(v.base, ":")+1:]
	for name, c := range map[string]struct {
		method, path string
		headers      map[string]string
		want         int
	}{
		"the page": {"GET", "/", map[string]string{"Authorization": ""}, 200},
		"by a link": {"GET", "/", map[string]string{"Authorization": "", "Sec-Fetch-Site": "cross-site",
			"Sec-Fetch-Dest": "document"}, 200},
		"in a frame": {"GET", "/", map[string]string{"Authorization": "", "Sec-Fetch-Site": "cross-site",
			"Sec-Fetch-Dest": "iframe"}, 403},
		"its script": {"GET", "/page.js",
			map[string]string{"Authorization": "", "Sec-Fetch-Site": "same-origin"}, 200},
		"its script elsewhere": {"GET", "/page.js",
			map[string]string{"Authorization": "", "Sec-Fetch-Site": "cross-site"}, 403},
		"the same site": {"GET", "/page.js", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		"the list":      {"GET", "/api/sessions", nil, 200},
		"as localhost":  {"GET", "/api/sessions", map[string]string{"Host": "localhost:" + port}, 200},
		"as ::1":        {"GET", "/api/sessions", map[string]string{"Host": "[::1]:" + port}, 200},
		"no token":      {"GET", "/api/sessions", map[string]string{"Authorization": ""}, 401},
		"another token": {"GET", "/api/sessions",
			map[string]string{"Authorization": "Bearer " + strings.Repeat("A", len(v.token))}, 401},
		"a part of the token": {"GET", "/api/sessions",
			map[string]string{"Authorization": "Bearer " + v.token[:len(v.token)-1]}, 401},
		"a longer token": {"GET", "/api/sessions",
			map[string]string{"Authorization": "Bearer " + v.token + "A"}, 401},
		"the token alone": {"GET", "/api/sessions", map[string]string{"Authorization": v.token}, 401},
		"the token in the query": {"GET", "/api/sessions?token=" + v.token, map[string]string{"Authorization": ""},
			401},
		"the token in a cookie": {"GET", "/api/sessions",
			map[string]string{"Authorization": "", "Cookie": "token=" + v.token}, 401},
		"a missing path, no token": {"GET", "/api/nix", map[string]string{"Authorization": ""}, 401},
		"a name that leads here":   {"GET", "/", map[string]string{"Host": "attacker.example:" + port}, 421},
		"a forwarded port":         {"GET", "/api/sessions", map[string]string{"Host": "localhost:1"}, 200},
		"the forwarded port 80":    {"GET", "/api/sessions", map[string]string{"Host": "127.0.0.1"}, 200},
		"a port that is none":      {"GET", "/", map[string]string{"Host": "127.0.0.1:x"}, 421},
		"a post of another port": {"POST", "/api/sessions/x/do",
			map[string]string{"Host": "localhost:1", "Origin": "http://localhost:2"}, 403},
		"another loopback address": {"GET", "/", map[string]string{"Host": "127.0.0.2:" + port}, 421},
		"a longer name":            {"GET", "/", map[string]string{"Host": "localhost.attacker.example:" + port}, 421},
		"another origin": {"GET", "/api/sessions", map[string]string{"Origin": "http://attacker.example"},
			403},
		"a file": {"GET", "/api/sessions", map[string]string{"Origin": "null"}, 403},
		"the origin with https": {"GET", "/api/sessions", map[string]string{"Origin": "https://127.0.0.1:" + port},
			403},
		"another local origin":  {"GET", "/api/sessions", map[string]string{"Origin": "http://127.0.0.1:1"}, 403},
		"a post without origin": {"POST", "/api/sessions/x/do", map[string]string{"Origin": ""}, 403},
		"a post of another origin": {"POST", "/api/sessions/x/do",
			map[string]string{"Origin": "http://attacker.example"}, 403},
		"a post of another name": {"POST", "/api/sessions/x/do",
			map[string]string{"Origin": "http://localhost:" + port}, 403},
		"a post without token": {"POST", "/api/sessions/x/do", map[string]string{"Authorization": ""}, 401},
		"a post to nobody":     {"POST", "/api/sessions/x/do", nil, 409},
		"a preflight": {"OPTIONS", "/api/sessions",
			map[string]string{"Origin": "http://attacker.example", "Access-Control-Request-Method": "GET"}, 403},
		"another method":        {"POST", "/api/sessions", nil, 405},
		"a method of none":      {"DELETE", "/api/sessions/x/do", map[string]string{"Origin": v.base}, 405},
		"a missing path":        {"GET", "/api/nix", nil, 404},
		"a file of the page":    {"GET", "/page/index.html", nil, 404},
		"a file above":          {"GET", "/../server.go", nil, 404},
		"a file above, encoded": {"GET", "/%2e%2e/server.go", nil, 404},
		"an id of a file above": {"GET", "/api/sessions/..%2f..%2fetc%2fpasswd/items/0", nil, 400},
		"an id that is hidden":  {"GET", "/api/sessions/.x/items/0", nil, 400},
		"a missing session":     {"GET", "/api/sessions/nix/items/0", nil, 404},
		"a row that is none":    {"GET", "/api/sessions/nix/items/-1", nil, 400},
		"a row below 0":         {"GET", "/api/sessions/nix/watch?first=-1", nil, 400},
		"a hash that is a path": {"GET", "/api/sessions/nix/outputs/..%2fx", nil, 400},
		"a negative offset": {"GET", "/api/sessions/nix/outputs/" + strings.Repeat("a", 64) + "?offset=-1", nil,
			400},
		"a long search": {"GET", "/api/sessions/nix/search?q=" + strings.Repeat("x", 5000), nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			got := v.do(c.method, c.path, "", c.headers)
			if got.status != c.want {
				t.Errorf("status %d, want %d: %s", got.status, c.want, got.body)
			}
			if got.status != 200 && !strings.HasPrefix(got.body, `{"error":"`) {
				t.Errorf("the error is %q, not JSON", got.body)
			}
			for header := range got.header {
				if strings.HasPrefix(header, "Access-Control-") {
					t.Errorf("the answer allows other origins: %s", header)
				}
			}
		})
	}
}

// A request with long headers is not answered.
func TestN5_LongHeaders(t *testing.T) {
	v := view(t, web.Options{})
	resp, err := v.client.Do(v.request("GET", "/", "", map[string]string{"X-Long": strings.Repeat("x", 64<<10)}))
	if err != nil {
		return // the connection was closed in the middle of the request
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Every answer confines the page, also that of an error.
func TestN5_AnswersConfineThePage(t *testing.T) {
	v := view(t, web.Options{})
	for _, path := range []string{"/", "/page.js", "/page.css", "/api/sessions", "/api/sessions/nix/items/0", "/nix"} {
		got := v.do("GET", path, "", nil)
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' " +
				"data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
				"require-trusted-types-for 'script'; trusted-types 'none'",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cache-Control":                "no-store",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got.header.Get(name), want)
			}
		}
		if strings.Contains(got.body, v.token) {
			t.Errorf("%s tells the token", path)
		}
	}
}

// A server never answers on an address that others reach.
func TestN5_OnlyLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := web.New(web.Options{}).Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(),
		"only on a loopback address") {
		t.Errorf("serving on %v: %v", l.Addr(), err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

// Two servers have different tokens of at least 128 bits.
func TestN5_Tokens(t *testing.T) {
	a, b := view(t, web.Options{}), view(t, web.Options{})
	if a.token == b.token || len(a.token) < 22 {
		t.Errorf("the tokens are %q and %q", a.token, b.token)
	}
	if got := a.do("GET", "/api/sessions", "",
		map[string]string{"Authorization": "Bearer " + b.token}); got.status != 401 {
		t.Errorf("the token of another server: %d", got.status)
	}
}

// A store without sessions has an empty list.
func TestN5_NoSessions(t *testing.T) {
	var list struct{ Sessions []sessions.Summary }
	if view(t, web.Options{}).get("/api/sessions", &list); list.Sessions == nil || len(list.Sessions) > 0 {
		t.Errorf("%+v", list)
	}
}
