package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// grantError holds the answer of an authorization server that refuses a request.
type grantError struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *grantError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("it answered %d %s", e.Status, http.StatusText(e.Status))
	}
	text := "it answered " + clean(e.Code, 100)
	if e.Description != "" {
		text += ": " + clean(e.Description, 300)
	}
	return text
}

// refusedGrant reports whether an authorization server does not take a code or a refresh token, or does not know the client any more.
func refusedGrant(err error) bool {
	e, ok := errors.AsType[*grantError](err)
	return ok && (e.Code == "invalid_grant" || e.Code == "invalid_client" || e.Code == "unauthorized_client")
}

// granted holds an answer with tokens.
type granted struct {
	AccessToken  string      `json:"access_token"`
	TokenType    string      `json:"token_type"`
	RefreshToken string      `json:"refresh_token"`
	ExpiresIn    json.Number `json:"expires_in"`
	Scope        string      `json:"scope"`
}

// refreshed returns the login with new tokens.
func (l *Login) refreshed(ctx context.Context, client *http.Client) (*Login, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {l.RefreshToken}, "resource": {l.Resource}}
	return l.grant(ctx, client, form)
}

// redeemed returns the login with the tokens for an authorization code.
func (l *Login) redeemed(ctx context.Context, client *http.Client, code, verifier, redirect string) (*Login, error) {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {redirect}, "resource": {l.Resource}}
	return l.grant(ctx, client, form)
}

// grant sends a request for tokens to the issuer.
func (l *Login) grant(ctx context.Context, client *http.Client, form url.Values) (*Login, error) {
	asked := time.Now()
	data, err := l.post(ctx, client, l.TokenEndpoint, form)
	if err != nil {
		return nil, err
	}
	var g granted
	if err := json.Unmarshal(data, &g); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %s", clean(err.Error(), 200))
	}
	if g.AccessToken == "" {
		return nil, errors.New("it answered without an access token")
	}
	if !strings.EqualFold(g.TokenType, "Bearer") {
		return nil, fmt.Errorf("it gave a token of the type %q, and only bearer tokens are known", clean(g.TokenType, 40))
	}
	if strings.ContainsFunc(g.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("it gave a token that cannot be in a header")
	}
	now := *l
	now.AccessToken, now.Expiry = g.AccessToken, time.Time{}
	if seconds, err := g.ExpiresIn.Float64(); err == nil && seconds > 0 {
		now.Expiry = asked.Add(time.Duration(min(seconds, 1e9) * float64(time.Second)))
	}
	if g.RefreshToken != "" {
		now.RefreshToken = g.RefreshToken
	}
	if g.Scope != "" {
		now.Scopes = readScopes(g.Scope)
	}
	return &now, nil
}

// The ways in which a client shows its secret.
const (
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// post sends a form to an endpoint of the issuer, as the client.
func (l *Login) post(ctx context.Context, client *http.Client, endpoint string, form url.Values) ([]byte, error) {
	if l.ClientSecret == "" || l.AuthMethod != authBasic {
		form.Set("client_id", l.ClientID)
	}
	if l.ClientSecret != "" && l.AuthMethod != authBasic {
		form.Set("client_secret", l.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if l.ClientSecret != "" && l.AuthMethod == authBasic {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() // it was read
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		refused := &grantError{}
		if json.Unmarshal(data, refused) != nil {
			refused = &grantError{}
		}
		refused.Status = resp.StatusCode
		return nil, refused
	}
	return data, nil
}

// revoke ends the tokens of a login at its issuer. An issuer without an endpoint for that keeps them until they expire.
func (l *Login) revoke(ctx context.Context, client *http.Client) error {
	if l.RevocationEndpoint == "" {
		return nil
	}
	var errs []error
	for kind, token := range map[string]string{"refresh_token": l.RefreshToken, "access_token": l.AccessToken} {
		if token != "" {
			_, err := l.post(ctx, client, l.RevocationEndpoint, url.Values{"token": {token}, "token_type_hint": {kind}})
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
