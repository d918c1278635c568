package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/attractor-go/attractor/internal/authserver"
	"github.com/attractor-go/attractor/internal/await"
)

// protected is an MCP server whose tools only a token of an authorization server opens.
type protected struct {
	URL    string // of the server and its resource
	Issuer *authserver.Server

	// Resource changes what the server says about itself.
	Resource func(m *oauthex.ProtectedResourceMetadata)
	// Scopes holds what a token needs.
	Scopes atomic.Pointer[[]string]

	mu   sync.Mutex
	seen []http.Header // of the requests for MCP
}

// startProtected starts a server with the tool whoami.
func startProtected(t *testing.T) *protected {
	p := &protected{Issuer: authserver.Start(t)}
	p.Scopes.Store(new([]string))
	server := sdk.NewServer(&sdk.Implementation{Name: "protected", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "whoami"}, func(context.Context, *sdk.CallToolRequest,
		struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "the user"}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	check := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		scopes, expiry, ok := p.Issuer.Check(token, p.URL)
		if !ok {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{Scopes: scopes, Expiration: expiry}, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		m := &oauthex.ProtectedResourceMetadata{Resource: p.URL, AuthorizationServers: []string{p.Issuer.URL}}
		if p.Resource != nil {
			p.Resource(m)
		}
		auth.ProtectedResourceMetadataHandler(m).ServeHTTP(w, r)
	})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Header.Clone())
		p.mu.Unlock()
		meta := strings.TrimSuffix(p.URL, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
		if scopes, _, ok := p.Issuer.Check(bearer(r), p.URL); ok && lack(scopes, *p.Scopes.Load()) {
			w.Header().Set("WWW-Authenticate",
				`Bearer error="insufficient_scope", scope="`+strings.Join(*p.Scopes.Load(),
					" ")+`", resource_metadata="`+meta+`"`)
			http.Error(w, "more is needed", http.StatusForbidden)
			return
		}
		auth.RequireBearerToken(check, &auth.RequireBearerTokenOptions{ResourceMetadataURL: meta})(handler).ServeHTTP(w,
			r)
	})
	web := httptest.NewServer(mux)
	t.Cleanup(func() {
		for open := range server.Sessions() {
			_ = open.Close() // those that a client without a login could not end
		}
		web.Close()
	})
	p.URL = web.URL + "/mcp"
	return p
}

func lack(have, need []string) bool {
	return slices.ContainsFunc(need, func(s string) bool { return !slices.Contains(have, s) })
}

// browser is the user's: it follows redirects and approves everything.
func browser(ctx context.Context, at string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return errors.Join(resp.Body.Close())
}

func (p *protected) server() Server { return Server{Name: "work", URL: p.URL} }

// logIn logs in as a user with a browser.
func (p *protected) logIn(t *testing.T, s Server, tokens TokenStore) error {
	t.Helper()
	return LogIn(t.Context(), s, LoginOptions{Tokens: tokens, Open: browser, Timeout: await.Limit})
}

// session connects to a server as a session does and closes the connection at the test's end.
func session(t *testing.T, s Server, tokens TokenStore) (*sdk.ClientSession, error) {
	t.Helper()
	transport, end, err := dialRemote(s, nil, tokens, nil, passAll())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	cs, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		end()
		return nil, err
	}
	t.Cleanup(func() { _ = cs.Close(); end() })
	return cs, nil
}

// passAll returns an inbox that gives the SDK every notification.
func passAll() *inbox { return &inbox{on: func(string, json.RawMessage) bool { return true }} }

// whoami calls the tool of the protected server.
func whoami(t *testing.T, cs *sdk.ClientSession) error {
	t.Helper()
	got, err := cs.CallTool(t.Context(), &sdk.CallToolParams{Name: "whoami"})
	if err == nil && got.Content[0].(*sdk.TextContent).Text != "the user" {
		t.Errorf("whoami returned %v", got.Content)
	}
	return err
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want one with %q", err, part)
		}
	}
}

func newTokens(t *testing.T) *FileTokens { return NewFileTokens(filepath.Join(t.TempDir(), "mcp")) }

func TestM3_FromLoginToCall(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	_, err := session(t, p.server(), tokens)
	if login, ok := errors.AsType[*LoginError](err); !ok || login.Server != "work" {
		t.Fatalf("without a login: %v, want a LoginError", err)
	}
	wantError(t, err, "run attractor mcp login work")
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	cs, err := session(t, p.server(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, cs); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/authorize", "/token"} {
		list := p.Issuer.Requests(path)
		if len(list) != 1 || list[0].Form.Get("resource") != p.URL {
			t.Errorf("%s: %v, want one request with the resource %s", path, list, p.URL)
		}
	}
	ask := p.Issuer.Requests("/authorize")[0].Form
	if ask.Get("code_challenge_method") != "S256" || len(ask.Get("code_challenge")) != 43 ||
		len(ask.Get("state")) < 22 {
		t.Errorf("the authorization request is %v", ask)
	}
	made := p.Issuer.Requests("/register")[0].Body
	if made["application_type"] != "native" || made["token_endpoint_auth_method"] != "none" {
		t.Errorf("the registration is %v", made)
	}
	checkModes(t, tokens.dir)
}

// checkModes checks that only the user can read the files of the tokens.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 { // the login and its lock
		t.Errorf("the directory has %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestM3_Refresh(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	cs, err := session(t, p.server(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	p.Issuer.Expire() // the client does not know: the server answers 401
	if err := whoami(t, cs); err != nil {
		t.Fatalf("after the token was refused: %v", err)
	}
	err = tokens.Change(t.Context(), p.URL, func(l *Login) (*Login, error) { l.Expiry = time.Now(); return l, nil })
	if err != nil {
		t.Fatal(err)
	}
	cs, err = session(t, p.server(), tokens) // it knows that the token has expired
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, cs); err != nil {
		t.Fatal(err)
	}
	list := p.Issuer.Requests("/token")
	if len(list) != 3 || list[2].Form.Get("grant_type") != "refresh_token" || list[2].Form.Get("resource") != p.URL ||
		list[1].Form.Get("refresh_token") == list[2].Form.Get("refresh_token") {
		t.Errorf("the requests for tokens are %v", list)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(p.seen),
		func(h http.Header) bool { return h.Get("Authorization") != "" })); n != 1 {
		t.Errorf("%d requests had no token, want 1: the login's first", n)
	}
}

// An administrator ends the login while a session runs. A new login helps that session too.
func TestM3_Revoked(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	cs, err := session(t, p.server(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	p.Issuer.End()
	for range 3 {
		err = whoami(t, cs)
		wantError(t, err, "run attractor mcp login work")
	}
	if list := p.Issuer.Requests("/token"); len(list) != 2 {
		t.Errorf("%d requests for tokens, want 2: the code's, and one with the refresh token", len(list))
	}
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, cs); err != nil {
		t.Errorf("after a new login: %v", err)
	}
}

// A token of another server is refused, and refreshing it does not begin a loop.
func TestM3_WrongToken(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	p.Issuer.Answer = func(_ url.Values, m map[string]any) { m["access_token"] = "of-another-server" }
	p.Issuer.Expire()
	_, err := session(t, p.server(), tokens)
	wantError(t, err, "refuses a token that its authorization server has just given", "run attractor mcp login work")
	if n := len(p.Issuer.Requests("/token")); n > 3 {
		t.Errorf("%d requests for tokens", n)
	}
}

func TestM3_Scopes(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	p.Resource = func(m *oauthex.ProtectedResourceMetadata) { m.ScopesSupported = []string{"read"} }
	p.Scopes.Store(&[]string{"read", "write"}) // known only when a token lacks them
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	if list := p.Issuer.Requests("/authorize"); len(list) != 2 || list[0].Form.Get("scope") != "read" ||
		list[1].Form.Get("scope") != "read write" {
		t.Errorf("the authorization requests are %v", list)
	}
	cs, err := session(t, p.server(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	p.Scopes.Store(&[]string{"admin"})
	wantError(t, whoami(t, cs), "wants more rights than the login has (admin)", "run attractor mcp login work")
	if err := p.logIn(t, p.server(), tokens); err != nil { // asks at once for what was lacking
		t.Fatal(err)
	}
	if list := p.Issuer.Requests("/authorize"); len(list) != 3 || list[2].Form.Get("scope") != "read write admin" {
		t.Errorf("the last authorization request is %v", list[len(list)-1].Form)
	}
	if err := whoami(t, cs); err != nil {
		t.Errorf("after the login with more scopes: %v", err)
	}
	before := len(p.Issuer.Requests("/authorize"))
	p.Issuer.Redirect = func(q url.Values) { p.Scopes.Store(&[]string{"not-" + q.Get("code")}) } // never enough
	wantError(t, p.logIn(t, p.server(), tokens), "refuses the rights of the token (403)")
	if n := len(p.Issuer.Requests("/authorize")) - before; n != maxAuthorizations {
		t.Errorf("the user was asked %d times, want %d", n, maxAuthorizations)
	}
}

// Each case is a server or somebody in between who does not do what is right.
func TestM3_LoginsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(p *protected, s *Server)
		want string
	}{
		"iss is missing": {func(p *protected, _ *Server) { p.Issuer.Redirect = func(q url.Values) { q.Del("iss") } },
			"does not say that it is from"},
		"iss of another": {func(p *protected, _ *Server) {
			p.Issuer.Redirect = func(q url.Values) { q.Set("iss", "https://evil.example") }
		}, "the answer is from https://evil.example"},
		"iss not advertised": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { delete(m, "authorization_response_iss_parameter_supported") }
			p.Issuer.Redirect = func(q url.Values) { q.Set("iss", "https://evil.example") }
		}, "the answer is from https://evil.example"},
		"iss twice": {func(p *protected, _ *Server) {
			p.Issuer.Redirect = func(q url.Values) { q.Add("iss", "https://evil.example") }
		}, "several values of iss"},
		"code twice": {func(p *protected, _ *Server) {
			p.Issuer.Redirect = func(q url.Values) {
				q.Add("code", "x")
			}
		}, "several values of code"},
		"no code": {func(p *protected, _ *Server) { p.Issuer.Redirect = func(q url.Values) { q.Del("code") } },
			"has no code"},
		"another code": {func(p *protected, _ *Server) {
			p.Issuer.Redirect = func(q url.Values) {
				q.Set("code", "injected")
			}
		}, "invalid_grant"},
		"the user declines": {func(p *protected, _ *Server) {
			p.Issuer.Redirect = func(q url.Values) {
				q.Set("error", "access_denied")
				q.Set("error_description", "no\x1b[2Jthanks")
			}
		}, "access_denied: no\\u"},
		"metadata of another": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["issuer"] = "https://evil.example" }
		}, `metadata issuer "https://evil.example"`},
		"plain PKCE": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["code_challenge_methods_supported"] = []string{"plain"} }
		}, "does not support PKCE with S256"},
		"no PKCE": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { delete(m, "code_challenge_methods_supported") }
		}, "PKCE"},
		"private endpoint": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["token_endpoint"] = "https://10.1.2.3/token" }
		}, "10.1.2.3"},
		"private page": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["authorization_endpoint"] = "https://router.local/setup" }
		}, "router.local is a name inside a private network"},
		"private name": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["token_endpoint"] = "https://vault.internal/token" }
		}, "vault.internal is a name inside a private network"},
		"plain endpoint": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["token_endpoint"] = "http://login.example.com/token" }
		}, "HTTPS"},
		"script endpoint": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["authorization_endpoint"] = "javascript:alert(1)" }
		}, "javascript"},
		"file endpoint": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { m["authorization_endpoint"] = "file:///bin/sh" }
		}, "file:///bin/sh"},
		"no endpoint": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { delete(m, "token_endpoint") }
		}, "no token_endpoint"},
		"another resource": {func(p *protected, _ *Server) {
			p.Resource = func(m *oauthex.ProtectedResourceMetadata) { m.Resource = "https://bank.example/mcp" }
		}, "is about https://bank.example/mcp"},
		"sibling resource": {func(p *protected, _ *Server) {
			p.Resource = func(m *oauthex.ProtectedResourceMetadata) { m.Resource += "x" }
		}, "is about http"},
		"no issuers": {func(p *protected, _ *Server) {
			p.Resource = func(m *oauthex.ProtectedResourceMetadata) { m.AuthorizationServers = nil }
		}, "names no authorization server"},
		"plain issuer": {func(p *protected, _ *Server) {
			p.Resource = func(m *oauthex.ProtectedResourceMetadata) {
				m.AuthorizationServers = []string{"http://login.example.com"}
			}
		}, "is not encrypted"},
		"no registration": {func(p *protected, _ *Server) {
			p.Issuer.Metadata = func(m map[string]any) { delete(m, "registration_endpoint") }
		}, "oauth.clientId"},
		"registration refused": {func(p *protected, _ *Server) {
			p.Issuer.Before = only("/register", func(w http.ResponseWriter) {
				w.WriteHeader(400)
				io.WriteString(w, `{"error":"invalid_client_metadata","error_description":"not\u001b[31m you"}`)
			})
		}, "registers no client: registration failed: invalid_client_metadata (not\\u"},
		"redirect loop": {func(p *protected, _ *Server) {
			p.Issuer.Before = only("/.well-known/oauth-authorization-server", func(w http.ResponseWriter) {
				w.Header().Set("Location", "/.well-known/oauth-authorization-server")
				w.WriteHeader(302)
			})
		}, "redirected more than 5 times"},
		"redirect elsewhere": {func(p *protected, _ *Server) {
			p.Issuer.Before = only("/.well-known/oauth-authorization-server",
				func(w http.ResponseWriter) { w.Header().Set("Location", "https://evil.example/"); w.WriteHeader(302) })
		}, "a redirect must stay on"},
		"token redirected": {func(p *protected, _ *Server) {
			p.Issuer.Before = only("/token", func(w http.ResponseWriter) {
				w.Header().Set("Location", "https://evil.example/")
				w.WriteHeader(307)
			})
		}, "a redirect must stay on"},
		"token of a kind": {func(p *protected, _ *Server) {
			p.Issuer.Answer = func(_ url.Values, m map[string]any) { m["token_type"] = "DPoP" }
		}, `"DPoP"`},
		"no token": {func(p *protected, _ *Server) {
			p.Issuer.Answer = func(_ url.Values, m map[string]any) { delete(m, "access_token") }
		}, "missing access_token"},
		"token with a line": {func(p *protected, _ *Server) {
			p.Issuer.Answer = func(_ url.Values, m map[string]any) { m["access_token"] = "a\r\nX: y" }
		}, "cannot be in a header"},
		"token not taken": {func(p *protected, _ *Server) {
			p.Issuer.Answer = func(_ url.Values, m map[string]any) { m["access_token"] = "wrong" }
		}, "the server refuses the token"},
		"metadata elsewhere": {func(p *protected, s *Server) {
			s.OAuth.MetadataURL = "https://10.0.0.7/.well-known/openid-configuration"
		}, "10.0.0.7"},
		"metadata's place": {func(p *protected, s *Server) { s.OAuth.MetadataURL = p.Issuer.URL + "/metadata" },
			"its path has to contain"},
	} {
		t.Run(name, func(t *testing.T) {
			p, tokens := startProtected(t), newTokens(t)
			s := p.server()
			c.set(p, &s)
			wantError(t, p.logIn(t, s, tokens), c.want, "cannot log in at the MCP server work")
			if l, err := tokens.Login(t.Context(), s.URL); l != nil || err != nil {
				t.Errorf("a login was kept: %v, %v", l, err)
			}
		})
	}
}

// only returns a function that answers the requests for one path.
func only(path string, answer func(http.ResponseWriter)) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		answer(w)
		return true
	}
}
