package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// LoginError reports that a server wants a login that a session does not have. A session never logs
// in by itself.
type LoginError struct {
	Server string
	Why    string // a clause that follows the server's name, such as "needs a login"
	Err    error  // more about why, or nil
}

// Error says what is wrong and which command helps.
func (e *LoginError) Error() string {
	why := e.Why
	if e.Err != nil {
		why += " (" + e.Err.Error() + ")"
	}
	return fmt.Sprintf("the MCP server %s %s: run attractor mcp login %s", e.Server, why, e.Server)
}

// Unwrap returns Err.
func (e *LoginError) Unwrap() error { return e.Err }

const (
	earlier        = 30 * time.Second // a token is refreshed this long before it expires
	refreshTimeout = 20 * time.Second
	maxScopes      = 100 // of a list, and that a login remembers to ask for
)

// authorizer adds the user's tokens to the requests of a connection, and refreshes them. It never
// begins a login.
type authorizer struct {
	server Server
	life   context.Context
	tokens TokenStore   // nil for none
	client *http.Client // for the token endpoint
	secret func(name, value string)

	mu      sync.Mutex
	login   *Login
	refused string // a refresh token that the issuer did not take
}

// sign adds the user's token to a request, unless the configuration has a header for it.
func (a *authorizer) sign(req *http.Request) error {
	if a.tokens == nil || a.configured() {
		return nil
	}
	token, err := a.token()
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return err
}

// needs returns the error that says that the user has to log in.
func (a *authorizer) needs(why string, err error) error { return &LoginError{a.server.Name, why, err} }

// configured reports whether the configuration has a header that authorizes requests.
func (a *authorizer) configured() bool {
	for name := range a.server.Headers {
		if textproto.CanonicalMIMEHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}

// token returns a token that has not expired, or "" if there is none: the server then says what it
// wants.
func (a *authorizer) token() (string, error) {
	ctx, cancel := context.WithTimeout(a.life, refreshTimeout)
	defer cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.login == nil || a.login.expires(earlier) {
		if err := a.load(ctx); err != nil {
			return "", err
		}
	}
	if a.login != nil && a.login.expires(earlier) {
		if err := a.refresh(ctx, a.login.AccessToken); err != nil && a.login.expires(0) {
			return "", err
		}
	}
	if a.login == nil || a.login.expires(0) {
		return "", nil
	}
	return a.login.AccessToken, nil
}

// expires reports whether the access token expires within a time.
func (l *Login) expires(within time.Duration) bool {
	return !l.Expiry.IsZero() && !time.Now().Add(within).Before(l.Expiry)
}

// load reads the login that is kept, which another process or a command may have renewed.
func (a *authorizer) load(ctx context.Context) error {
	l, err := a.tokens.Login(ctx, a.server.URL)
	if err != nil {
		return a.needs("has a login that cannot be read", err)
	}
	a.use(l)
	return nil
}

func (a *authorizer) use(l *Login) {
	a.login = l
	l.register(a.server.Name, a.secret)
}

// register tells what of a login is secret.
func (l *Login) register(server string, secret func(name, value string)) {
	if l == nil || secret == nil {
		return
	}
	for what, value := range map[string]string{"token": l.AccessToken, "refresh-token": l.RefreshToken,
		"client-secret": l.ClientSecret} {
		if value != "" {
			secret(server+"-"+what, value)
		}
	}
}

// refresh replaces an access token by a new one, if none has replaced it yet. The refresh token is
// sent while no other process can send it. A login whose refresh token is refused stays as it is,
// because its access token may still be valid.
func (a *authorizer) refresh(ctx context.Context, stale string) error {
	return a.tokens.Change(ctx, a.server.URL, func(l *Login) (*Login, error) {
		switch {
		case l == nil || l.Server != a.server.URL:
			return nil, errNoRefresh
		case l.AccessToken != stale:
			a.use(l)
			return l, nil
		case l.RefreshToken == "" || l.RefreshToken == a.refused:
			return nil, errNoRefresh
		}
		now, err := l.refreshed(ctx, a.client)
		if refusedGrant(err) {
			a.refused = l.RefreshToken
			return nil, errNoRefresh
		}
		if err != nil {
			return nil, fmt.Errorf("cannot refresh the login at %s: %w", l.Issuer, err)
		}
		a.use(now)
		return now, nil
	})
}

var errNoRefresh = errors.New("there is no refresh token that is valid")

// again sends a refused request once more, if there is another token for it.
func (a *authorizer) again(req *http.Request, resp *http.Response, base http.RoundTripper) (*http.Response, error) {
	token, err := a.renewed(req, resp)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if req.GetBody != nil {
		if req.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	resp, err = base.RoundTrip(req)
	if err != nil || !unauthorized(resp) {
		return resp, err
	}
	defer resp.Body.Close() // the error says more
	if resp.StatusCode == http.StatusForbidden {
		return nil, a.forbidden(req.Context(), resp)
	}
	return nil, a.needs("needs a new login, because it refuses a token that its authorization server has just given",
		nil)
}

// unauthorized reports whether an answer refuses a request for its token.
func unauthorized(resp *http.Response) bool {
	return resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
}

// renewed returns another token for a request that was refused.
func (a *authorizer) renewed(req *http.Request, resp *http.Response) (string, error) {
	defer resp.Body.Close() // the status and the header say all
	ctx, cancel := context.WithTimeout(req.Context(), refreshTimeout)
	defer cancel()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens != nil && !a.configured() {
		if err := a.load(ctx); err != nil {
			return "", err
		}
	}
	known := a.login != nil && !a.login.expires(0) && a.login.AccessToken != bearer(req)
	switch {
	case resp.StatusCode == http.StatusForbidden:
		if _, lacks := wantedScopes(resp); !lacks || !known { // else a later login may have brought a better token
			return "", a.forbidden(ctx, resp)
		}
	case a.configured():
		return "", fmt.Errorf("the MCP server %s refused the Authorization header of its configuration (401): check "+
			"its value", a.server.Name)
	case a.login == nil:
		return "", a.needs("needs a login", nil)
	case !known:
		if err := a.refresh(ctx, a.login.AccessToken); errors.Is(err, errNoRefresh) {
			return "", a.needs("needs a new login, because it does not accept the old one any more", nil)
		} else if err != nil {
			return "", err
		}
	}
	return a.login.AccessToken, nil
}

// forbidden returns the error for a refusal of a token that is valid. If it lacks scopes, the next
// login asks for them.
func (a *authorizer) forbidden(ctx context.Context, resp *http.Response) error {
	scopes, lacks := wantedScopes(resp)
	if !lacks || a.tokens == nil || a.configured() {
		return fmt.Errorf("the MCP server %s answered %s", a.server.Name, refusal(resp))
	}
	err := a.tokens.Change(ctx, a.server.URL, func(l *Login) (*Login, error) {
		if l != nil {
			l.Wanted = union(l.Wanted, scopes)
			l.Wanted = l.Wanted[max(0, len(l.Wanted)-maxScopes):]
		}
		return l, nil
	})
	why := "wants more rights than the login has"
	if len(scopes) > 0 {
		why += " (" + clean(strings.Join(scopes, " "), 200) + ")"
	}
	return a.needs(why, err)
}

// bearer returns the token of a request.
func bearer(req *http.Request) string {
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return token
}

// wantedScopes returns the scopes that a refused request would have needed, and whether a lack of
// scopes is why it was refused.
func wantedScopes(resp *http.Response) (scopes []string, lacks bool) {
	for _, c := range challenges(resp) {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			return readScopes(c.Params["scope"]), true
		}
	}
	return nil, false
}

// challenges returns what an answer says about how to authorize a request. What cannot be read
// counts as nothing.
func challenges(resp *http.Response) []oauthex.Challenge {
	list, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return nil
	}
	return list
}

// readScopes reads a list of scopes from a server. Those that the standard does not allow are left
// out.
func readScopes(text string) (list []string) {
	for _, scope := range strings.Fields(text) {
		odd := strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
		if !odd && len(list) < maxScopes && len(scope) <= 200 {
			list = append(list, scope)
		}
	}
	return list
}

// union returns the strings of all lists, each once, in their order.
func union(lists ...[]string) (all []string) {
	for _, s := range slices.Concat(lists...) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// drain reads the rest of a short answer, so that its connection can be used again, and closes it.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxRefusal) // whatever it is
	_ = resp.Body.Close()                              // it is not used
}
