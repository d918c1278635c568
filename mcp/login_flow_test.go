package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/internal/authserver"
)

// get sends a request to the receiver of a login, as any program on the machine can, and returns
// the answer.
func get(t *testing.T, at, host string) (status int, page string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data), resp.Header
}

// A web page that the user has open can send requests to the receiver. They do not end the login,
// and only the first right one counts.
func TestM3_ForgedAnswers(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	var back string
	open := func(ctx context.Context, at string) error {
		u, err := url.Parse(at)
		if err != nil {
			return err
		}
		back = u.Query().Get("redirect_uri")
		state := u.Query().Get("state")
		for name, c := range map[string]struct {
			at, host string
			status   int
		}{
			"a forged state":   {back + "?code=stolen&state=guess", "", 400},
			"no state":         {back + "?code=stolen", "", 400},
			"a longer state":   {back + "?code=stolen&state=" + state + "x", "", 400},
			"another path":     {strings.TrimSuffix(back, callbackPath) + "/?code=stolen&state=" + state, "", 404},
			"another host":     {back + "?code=stolen&state=" + state, "evil.example", 404},
			"a strange query":  {back + "?code=stolen&state=%zz", "", 400},
			"a favourite icon": {strings.TrimSuffix(back, callbackPath) + "/favicon.ico", "", 404},
		} {
			if status, _, _ := get(t, c.at, c.host); status != c.status {
				t.Errorf("%s is answered with %d, want %d", name, status, c.status)
			}
		}
		if err := browser(ctx, at); err != nil {
			return err
		}
		if status, _, _ := get(t, back+"?code=again&state="+state, ""); status != 400 {
			t.Errorf("a second answer with the right state is answered with %d", status)
		}
		return nil
	}
	if err := LogIn(t.Context(), p.server(), LoginOptions{Tokens: tokens, Open: open}); err != nil {
		t.Fatal(err)
	}
	if n := p.Issuer.Alive(); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
	if _, err := http.Get(back); err == nil {
		t.Error("the receiver still listens after the login")
	}
}

func TestM3_ThePageHasNoScript(t *testing.T) {
	p := startProtected(t)
	open := func(_ context.Context, at string) error {
		status, page, header := get(t, at, "")
		if status != 200 || !strings.Contains(page, "Go back to the terminal") || strings.ContainsAny(page, "<>") {
			t.Errorf("the page is %d %q", status, page)
		}
		for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'",
			"Content-Type": "text/plain", "Referrer-Policy": "no-referrer",
			"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"} {
			if !strings.Contains(header.Get(name), want) {
				t.Errorf("%s is %q, want %q", name, header.Get(name), want)
			}
		}
		return nil
	}
	if err := LogIn(t.Context(), p.server(), LoginOptions{Tokens: newTokens(t), Open: open}); err != nil {
		t.Fatal(err)
	}
}

// The browser is on another machine: the user pastes where it ended.
func TestM3_Pasted(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	shown := make(chan string, 1)
	ended := func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, <-shown, nil)
		if err != nil {
			return "", err
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			return "", err
		}
		return " " + resp.Header.Get("Location") + "\n", resp.Body.Close()
	}
	err := LogIn(t.Context(), p.server(), LoginOptions{Tokens: tokens, Show: func(at string) { shown <- at },
		Paste: ended})
	if err != nil {
		t.Fatal(err)
	}
	wrong := func(context.Context) (string, error) { return "http://127.0.0.1/callback?code=x&state=y", nil }
	wantError(t, LogIn(t.Context(), p.server(), LoginOptions{Tokens: tokens, Paste: wrong}),
		"what was pasted is not the URL")
}

func TestM3_NobodyLogsIn(t *testing.T) {
	t.Parallel()
	p := startProtected(t)
	closed := func(context.Context) (string, error) { return "", io.EOF } // no terminal
	err := LogIn(t.Context(), p.server(),
		LoginOptions{Tokens: newTokens(t), Paste: closed, Timeout: 300 * time.Millisecond})
	wantError(t, err, "nobody finished the login in 300ms: run the command again")
	ctx, cancel := context.WithCancel(t.Context())
	err = LogIn(ctx, p.server(), LoginOptions{Tokens: newTokens(t), Show: func(string) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestM3_Clients(t *testing.T) {
	t.Setenv("WORK_SECRET", "s3cret&+")
	const document = "https://attractor.example/client.json"
	p := startProtected(t)
	for name, c := range map[string]struct {
		set      func(s *Server, o *LoginOptions)
		metadata func(m map[string]any)
		client   string
		auth     string // of the request for tokens
		form     string // the secret there
	}{
		"configured first": {set: func(s *Server,
			o *LoginOptions) {
			s.OAuth.ClientID = "mine"
			o.ClientMetadataURL = document
		}, client: "mine"},
		"with a secret": {set: func(s *Server, _ *LoginOptions) {
			s.OAuth.ClientID, s.OAuth.ClientSecretVar = "confidential", "WORK_SECRET"
		},
			client: "confidential", auth: "Basic "},
		"with a secret in the form": {set: func(s *Server, _ *LoginOptions) {
			s.OAuth.ClientID, s.OAuth.ClientSecretVar = "confidential", "WORK_SECRET"
		},
			metadata: func(m map[string]any) { m["token_endpoint_auth_methods_supported"] = []string{authPost} },
			client:   "confidential", form: "s3cret&+"},
		"a document": {set: func(_ *Server, o *LoginOptions) { o.ClientMetadataURL = document },
			metadata: func(m map[string]any) { m["client_id_metadata_document_supported"] = true }, client: document},
	} {
		t.Run(name, func(t *testing.T) {
			p.Issuer.Metadata = c.metadata
			s, port := p.server(), freePort(t)
			s.OAuth.CallbackPort = port
			redirects := []string{fmt.Sprintf("http://127.0.0.1:%d%s", port, callbackPath)}
			for id, secret := range map[string]string{"mine": "", "confidential": "s3cret&+", document: ""} {
				p.Issuer.Know(id, authserver.Client{Secret: secret, Redirects: redirects})
			}
			o := LoginOptions{Tokens: newTokens(t), Open: browser}
			c.set(&s, &o)
			if err := LogIn(t.Context(), s, o); err != nil {
				t.Fatal(err)
			}
			asked := p.Issuer.Requests("/token")
			last := asked[len(asked)-1]
			l, err := o.Tokens.Login(t.Context(), s.URL)
			if err != nil || l.ClientID != c.client || !strings.HasPrefix(last.Header.Get("Authorization"), c.auth) ||
				last.Form.Get("client_secret") != c.form {
				t.Errorf("the login is %+v (%v), the request for tokens %v %v", l, err, last.Header, last.Form)
			}
			if n := len(p.Issuer.Requests("/register")); n != 0 {
				t.Errorf("%d clients were registered", n)
			}
			p.Issuer.Expire()
			if _, err := session(t, s, o.Tokens); err != nil {
				t.Errorf("after the token expired: %v", err)
			}
		})
	}
	s := p.server()
	s.OAuth.ClientID, s.OAuth.ClientSecretVar = "confidential", "UNSET"
	wantError(t, p.logIn(t, s, newTokens(t)), "the variable UNSET, which has the client's secret, is not set")
}

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	r, err := listenForRedirect(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var port int
	if _, err := fmt.Sscanf(r.URL, "http://127.0.0.1:%d/", &port); err != nil {
		t.Fatal(err)
	}
	return port
}

// Processes that find an expired token at the same time send the refresh token once: its reuse
// would end the login.
func TestM3_ManyProcessesRefresh(t *testing.T) {
	if dir := os.Getenv("MCP_TEST_TOKENS"); dir != "" {
		s := Server{Name: "work", URL: os.Getenv("MCP_TEST_URL")}
		for range 3 {
			cs, err := session(t, s, NewFileTokens(dir))
			if err != nil {
				t.Fatal(err)
			}
			if err := whoami(t, cs); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	p, tokens := startProtected(t), newTokens(t)
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	p.Issuer.Expire()
	var all sync.WaitGroup
	for range 5 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestM3_ManyProcessesRefresh$", "-test.count=1")
		cmd.Env = append(os.Environ(), "MCP_TEST_TOKENS="+tokens.dir, "MCP_TEST_URL="+p.URL)
		all.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("a process: %v\n%s", err, out)
			}
		})
	}
	all.Wait()
	if n := len(p.Issuer.Requests("/token")); n != 2 {
		t.Errorf("%d requests for tokens, want 2: the code's, and one refresh", n)
	}
	if p.Issuer.Alive() != 1 {
		t.Error("the login has ended")
	}
}

// While one process changes a login, no other does.
func TestM3_OneChangeAtATime(t *testing.T) {
	tokens := newTokens(t)
	const server = "https://mcp.example.com/mcp"
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- tokens.Change(t.Context(), server, func(*Login) (*Login, error) {
			close(held)
			<-release
			return &Login{Server: server, AccessToken: "first"}, nil
		})
	}()
	<-held
	other := NewFileTokens(tokens.dir) // as another process has it
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantError(t, other.Change(ctx, server, func(*Login) (*Login, error) {
		t.Error("two changes at a time")
		return nil,
			nil
	}), "another process holds it")
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	var was *Login
	if err := other.Change(t.Context(), server, func(l *Login) (*Login, error) {
		was = l
		return l,
			nil
	}); err != nil || was == nil || was.AccessToken != "first" {
		t.Errorf("afterwards: %+v, %v", was, err)
	}
	if err := other.Change(t.Context(), "https://other.example/", func(*Login) (*Login, error) {
		return nil,
			errNoRefresh
	}); !errors.Is(err, errNoRefresh) {
		t.Errorf("the function's error: %v", err)
	}
}

// A network that fails, or an authorization server with a fault, costs nobody a login.
func TestM3_RefreshFails(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	if err := p.logIn(t, p.server(), tokens); err != nil {
		t.Fatal(err)
	}
	was, err := tokens.Login(t.Context(), p.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.Issuer.Expire()
	p.Issuer.Before = only("/token", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
	_, err = session(t, p.server(), tokens)
	wantError(t, err, "cannot refresh the login", "502 Bad Gateway")
	now, err := tokens.Login(t.Context(), p.URL)
	if err != nil || now.RefreshToken != was.RefreshToken {
		t.Fatalf("the login was lost: %v", err)
	}
	p.Issuer.Before = nil
	cs, err := session(t, p.server(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	if err := whoami(t, cs); err != nil {
		t.Error(err)
	}
}

// A server that asks for other scopes each time fills no file.
func TestM3_ManyWantedScopes(t *testing.T) {
	s, tokens := Server{Name: "work", URL: "http://127.0.0.1/mcp"}, newTokens(t)
	save := func(*Login) (*Login, error) { return &Login{Server: s.URL, AccessToken: "token"}, nil }
	if err := tokens.Change(t.Context(), s.URL, save); err != nil {
		t.Fatal(err)
	}
	a := &authorizer{server: s, life: t.Context(), tokens: tokens}
	req := httptest.NewRequest(http.MethodPost, s.URL, http.NoBody)
	req.Header.Set("Authorization", "Bearer token")
	scope := ""
	for n := range 70 {
		scopes := make([]string, 100)
		for i := range scopes {
			scope = fmt.Sprintf("%d-%d-%s", n, i, strings.Repeat("x", 150))
			scopes[i] = scope
		}
		resp := &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody,
			Header: http.Header{"Www-Authenticate": {`Bearer error="insufficient_scope", scope="` + strings.Join(scopes,
				" ") + `"`}}}
		_, err := a.renewed(req, resp)
		wantError(t, err, "wants more rights")
	}
	l, err := tokens.Login(t.Context(), s.URL)
	if err != nil || l == nil {
		t.Fatalf("the login is %v, %v", l, err)
	}
	if len(l.Wanted) != maxScopes || l.Wanted[maxScopes-1] != scope {
		t.Errorf("%d scopes are remembered", len(l.Wanted))
	}
}

func TestM3_TokenFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of files")
	}
	p := startProtected(t)
	for name, c := range map[string]struct {
		spoil func(file string) error
		want  string
	}{
		"others can read it": {func(file string) error { return os.Chmod(file, 0o644) },
			"others can read it (mode -rw-r--r--)"},
		"garbage": {func(file string) error { return os.WriteFile(file, []byte("{\"server\": 12"), 0o600) },
			"unexpected end"},
		"another server's": {func(file string) error {
			return os.WriteFile(file, []byte(`{"server":"https://other.example"}`), 0o600)
		}, "another server"},
		"a link": {func(file string) error {
			return errors.Join(os.Rename(file, file+"x"), os.Symlink(file+"x", file))
		}, "not a regular file"},
		"a directory": {func(file string) error {
			return errors.Join(os.Remove(file), os.Mkdir(file, 0o700), os.Remove(file), os.Symlink(os.TempDir(), file))
		}, "not a regular file"},
		"too long": {func(file string) error { return os.Truncate(file, maxTokenFile+1) }, "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			tokens := newTokens(t)
			if err := p.logIn(t, p.server(), tokens); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(tokens.file(p.URL)); err != nil {
				t.Fatal(err)
			}
			_, err := session(t, p.server(), tokens)
			wantError(t, err, c.want, "run attractor mcp login work")
			if err := p.logIn(t, p.server(), tokens); err != nil {
				t.Fatal(err)
			}
			if _, err := session(t, p.server(), tokens); err != nil {
				t.Errorf("after a new login: %v", err)
			}
			if info, err := os.Lstat(tokens.file(p.URL)); err != nil || info.Mode() != 0o600 {
				t.Errorf("the new file: %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestM3_LogOut(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	o := LoginOptions{Tokens: tokens, Open: browser}
	if err := LogOut(t.Context(), p.server(), o); !errors.Is(err, ErrNoLogin) {
		t.Errorf("without a login: %v", err)
	}
	for _, broken := range []bool{false, true} {
		if err := LogIn(t.Context(), p.server(), o); err != nil {
			t.Fatal(err)
		}
		l, err := tokens.Login(t.Context(), p.URL)
		if err != nil {
			t.Fatal(err)
		}
		if broken {
			p.Issuer.Before = only("/revoke",
				func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) })
		}
		err = LogOut(t.Context(), p.server(), o)
		if broken {
			wantError(t, err, "the tokens were removed here", "was not told")
		} else if _, _, valid := p.Issuer.Check(l.AccessToken, p.URL); err != nil || valid {
			t.Errorf("%v; the token is valid: %v", err, valid)
		}
		if l, err := tokens.Login(t.Context(), p.URL); l != nil || err != nil {
			t.Errorf("after the logout: %v, %v", l, err)
		}
	}
}

// Tokens go to the masker, and to no other place.
func TestM3_SecretsAreTold(t *testing.T) {
	p, tokens := startProtected(t), newTokens(t)
	told := map[string]string{}
	o := LoginOptions{Tokens: tokens, Open: browser, Secret: func(name, value string) { told[value] = name }}
	if err := LogIn(t.Context(), p.server(), o); err != nil {
		t.Fatal(err)
	}
	l, err := tokens.Login(t.Context(), p.URL)
	if err != nil || told[l.AccessToken] != "work-token" || told[l.RefreshToken] != "work-refresh-token" {
		t.Errorf("told: %v; the login: %+v, %v", told, l, err)
	}
	for _, r := range p.Issuer.Requests("/token") {
		if strings.Contains(fmt.Sprint(r.Header), "access-") {
			t.Errorf("the authorization server got %v", r.Header)
		}
	}
	if matches, err := filepath.Glob(filepath.Join(tokens.dir, ".attractor-*")); err != nil || len(matches) > 0 {
		t.Errorf("temporary files are left: %v, %v", matches, err)
	}
}
