package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/attractor-go/attractor/internal/netguard"
)

// LoginOptions holds what [LogIn] and [LogOut] need besides the server.
type LoginOptions struct {
	Tokens TokenStore
	// Show shows the URL at which the user logs in. It is called for each authorization.
	Show func(url string)
	// Open opens the URL in a browser. Nil stands for none. Its failure is no error, because the
	// URL was shown.
	Open func(ctx context.Context, url string) error
	// Paste reads the URL to which the browser was sent at the end, for a browser on another
	// machine. Nil stands for none. It has to return when its context ends, because LogIn waits for
	// it. If it fails, the browser may still come.
	Paste func(ctx context.Context) (string, error)
	// ClientMetadataURL is the Client ID Metadata Document of the host program, if it has one.
	ClientMetadataURL string
	// Secret is called with each value that is to be masked. It may be nil.
	Secret func(name, value string)
	// Timeout limits how long the user may take. The default is five minutes.
	Timeout time.Duration
}

const maxAuthorizations = 2 // the second is for scopes that only the server's answer to the first token names

// LogIn lets the user log in at a server and keeps the tokens. It uses the client of the server's
// configuration, else the client metadata document, else it registers a client.
func LogIn(ctx context.Context, s Server, o LoginOptions) error {
	timeout := cmp.Or(o.Timeout, 5*time.Minute)
	ctx, cancel := context.WithTimeoutCause(ctx, timeout,
		fmt.Errorf("nobody finished the login in %s: run the command again", timeout))
	defer cancel()
	err := logIn(ctx, s, o)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot log in at the MCP server %s: %w", s.Name, err)
	}
	return nil
}

func logIn(ctx context.Context, s Server, o LoginOptions) error {
	client, err := Network{}.Client(s)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	answer, err := probe(ctx, client, s, "")
	if err != nil {
		return err
	}
	found, err := discover(ctx, client, s, answer)
	if err != nil {
		return err
	}
	back, err := listenForRedirect(s.OAuth.CallbackPort)
	if err != nil {
		return err
	}
	defer back.Close()
	f := &flow{server: s, options: o, client: client, found: found, back: back}
	if err := f.register(ctx); err != nil {
		return err
	}
	login, err := f.authorize(ctx)
	if err != nil {
		return err
	}
	return o.Tokens.Change(ctx, s.URL, func(*Login) (*Login, error) { return login, nil })
}

// probe asks a server for a session, with a token or without, and returns the status and the header
// of its answer.
func probe(ctx context.Context, client *http.Client, s Server, token string) (*http.Response, error) {
	const ask = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + statefulVersion +
		`","capabilities":{},` +
		`"clientInfo":{"name":"attractor","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(ask))
	if err != nil {
		return nil, err
	}
	for name, value := range s.Headers {
		req.Header.Set(name, value)
	}
	req.Header.Del("Authorization")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	return resp, resp.Body.Close() // a session that it began ends some day
}

// flow holds one login.
type flow struct {
	server  Server
	options LoginOptions
	client  *http.Client
	found   *discovered
	back    *receiver
	login   Login // without tokens
}

// register sets the client as which the user logs in.
func (f *flow) register(ctx context.Context) error {
	m := f.found.issuer
	f.login = Login{Server: f.server.URL, Resource: f.found.resource, Issuer: m.Issuer, TokenEndpoint: m.TokenEndpoint,
		RevocationEndpoint: m.RevocationEndpoint}
	switch {
	case f.server.OAuth.ClientID != "":
		return f.configured()
	case f.options.ClientMetadataURL != "" && m.ClientIDMetadataDocumentSupported:
		f.login.ClientID = f.options.ClientMetadataURL
	case m.RegistrationEndpoint != "":
		made, err := oauthex.RegisterClient(ctx, m.RegistrationEndpoint,
			&oauthex.ClientRegistrationMetadata{ClientName: "Attractor",
				RedirectURIs: []string{f.back.URL}, GrantTypes: []string{"authorization_code", "refresh_token"},
				ResponseTypes:           []string{"code"},
				TokenEndpointAuthMethod: "none", ApplicationType: "native"}, f.client)
		if err != nil {
			return fmt.Errorf("the authorization server %s registers no client: %s", netguard.Shown(m.Issuer),
				clean(err.Error(), 400))
		}
		f.login.ClientID, f.login.ClientSecret, f.login.AuthMethod = made.ClientID, made.ClientSecret,
			made.TokenEndpointAuthMethod
	default:
		return fmt.Errorf("the authorization server %s wants to know its clients: register one there and put its id "+
			"into the server's configuration (oauth.clientId)", netguard.Shown(m.Issuer))
	}
	return nil
}

// configured sets the client of the server's configuration.
func (f *flow) configured() error {
	f.login.ClientID = f.server.OAuth.ClientID
	f.login.AuthMethod = authBasic // what the standard takes for granted
	if methods := f.found.issuer.TokenEndpointAuthMethodsSupported; slices.Contains(methods, authPost) &&
		!slices.Contains(methods, authBasic) {
		f.login.AuthMethod = authPost
	}
	name := f.server.OAuth.ClientSecretVar
	if name == "" {
		return nil
	}
	if f.login.ClientSecret = os.Getenv(name); f.login.ClientSecret == "" {
		return fmt.Errorf("the variable %s, which has the client's secret, is not set", name)
	}
	return nil
}

// authorize lets the user approve, and checks that the server takes the token. If it then names
// scopes that the token lacks, the user is asked once more.
func (f *flow) authorize(ctx context.Context) (*Login, error) {
	scopes, err := f.scopes(ctx)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		login, err := f.once(ctx, scopes)
		if err != nil {
			return nil, err
		}
		login.register(f.server.Name, f.options.Secret)
		answer, err := probe(ctx, f.client, f.server, login.AccessToken)
		if err != nil {
			return nil, err
		}
		more, lacks := wantedScopes(answer)
		switch {
		case answer.StatusCode == http.StatusUnauthorized:
			return nil, fmt.Errorf("the server refuses the token that %s gave for it", netguard.Shown(login.Issuer))
		case answer.StatusCode != http.StatusForbidden:
			return login, nil
		case !lacks || n == maxAuthorizations:
			return nil, fmt.Errorf("the server refuses the rights of the token (403), with the scopes %q",
				strings.Join(login.Scopes, " "))
		}
		scopes = union(scopes, more)
	}
}

// scopes returns the scopes to ask for: those of the configuration or of the server, and what an
// earlier login had and lacked.
func (f *flow) scopes(ctx context.Context) ([]string, error) {
	list := f.server.OAuth.Scopes
	if len(list) == 0 {
		list = f.found.scopes
	}
	was, err := f.options.Tokens.Login(ctx, f.server.URL)
	if err != nil && !errors.Is(err, ErrTokens) { // this login replaces a damaged one
		return nil, err
	}
	if was != nil && was.Issuer == f.login.Issuer && was.Resource == f.login.Resource && len(was.Wanted) > 0 {
		list = union(list, was.Scopes, was.Wanted)
	}
	if slices.Contains(f.found.issuer.ScopesSupported, "offline_access") {
		list = union(list, []string{"offline_access"})
	}
	return list, nil
}

// once sends the user to the authorization server and exchanges the code with which the browser
// comes back.
func (f *flow) once(ctx context.Context, scopes []string) (*Login, error) {
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	config := oauth2.Config{ClientID: f.login.ClientID, RedirectURL: f.back.URL, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: f.found.issuer.AuthorizationEndpoint}}
	place := config.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier),
		oauth2.SetAuthURLParam("resource", f.found.resource))
	belongs := func(q url.Values) bool { return subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) == 1 }
	f.back.expect(belongs)
	if f.options.Show != nil {
		f.options.Show(place)
	}
	if f.options.Open != nil {
		_ = f.options.Open(ctx, place) // the user can open what was shown
	}
	code, err := f.wait(ctx, belongs)
	if err != nil {
		return nil, err
	}
	login := f.login
	login.Scopes = scopes
	now, err := login.grant(ctx, f.client, code, f.back.URL, oauth2.VerifierOption(verifier))
	if err != nil {
		return nil, fmt.Errorf("the authorization server %s gives no token: %w", netguard.Shown(login.Issuer), err)
	}
	return now, nil
}

// wait returns the code with which the browser comes back, or which the user pastes.
func (f *flow) wait(ctx context.Context, belongs func(url.Values) bool) (string, error) {
	var pasted chan string // nil if nothing can be pasted
	if f.options.Paste != nil {
		pasted = make(chan string, 1)
		reading, stop := context.WithCancel(ctx)
		var paste sync.WaitGroup
		defer func() { stop(); paste.Wait() }()
		paste.Go(func() {
			if text, err := f.options.Paste(reading); err == nil && text != "" {
				pasted <- text
			}
		})
	}
	select {
	case q := <-f.back.got:
		return f.code(q)
	case text := <-pasted:
		u, err := url.Parse(strings.TrimSpace(text))
		if err != nil || !belongs(u.Query()) {
			return "", errors.New("what was pasted is not the URL at which this login ended: run the command again " +
				"and paste the whole URL")
		}
		return f.code(u.Query())
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// code returns the authorization code of an answer that belongs to the login.
func (f *flow) code(q url.Values) (string, error) {
	m := f.found.issuer
	for _, name := range []string{"code", "iss", "state", "error"} {
		if len(q[name]) > 1 {
			return "", fmt.Errorf("the answer of %s has several values of %s", netguard.Shown(m.Issuer), name)
		}
	}
	switch iss := q.Get("iss"); {
	case iss == "" && m.AuthorizationResponseIssParameterSupported:
		return "", fmt.Errorf("the answer does not say that it is from %s, although that server always says so",
			netguard.Shown(m.Issuer))
	case iss != "" && iss != m.Issuer:
		return "", fmt.Errorf("the answer is from %s, but you were sent to %s: somebody may be trying to get "+
			"your login", netguard.Shown(iss), netguard.Shown(m.Issuer))
	}
	if code := q.Get("error"); code != "" {
		return "", fmt.Errorf("the authorization server %s refused: %w", netguard.Shown(m.Issuer),
			&grantError{code, q.Get("error_description")})
	}
	if q.Get("code") == "" {
		return "", fmt.Errorf("the answer of %s has no code", netguard.Shown(m.Issuer))
	}
	return q.Get("code"), nil
}

// ErrNoLogin reports that there is no login at a server.
var ErrNoLogin = errors.New("there is no login")

// LogOut revokes the tokens for a server, if its authorization server has a way, and forgets them
// in any case.
func LogOut(ctx context.Context, s Server, o LoginOptions) error {
	client, err := Network{}.Client(s)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	var revoked, none error
	err = o.Tokens.Change(ctx, s.URL, func(l *Login) (*Login, error) {
		if l == nil {
			none = ErrNoLogin
			return nil, nil // what cannot be used is removed
		}
		l.register(s.Name, o.Secret)
		ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
		defer cancel()
		if err := l.revoke(ctx, client); err != nil {
			revoked = fmt.Errorf("the tokens were removed here, but %s was not told: %w", l.Issuer, err)
		}
		return nil, nil
	})
	if err = errors.Join(err, none, revoked); err != nil {
		return fmt.Errorf("the MCP server %s: %w", s.Name, err)
	}
	return nil
}
