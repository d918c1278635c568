package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// grantError holds the answer of an authorization server that refuses a request.
type grantError struct{ code, description string }

func (e *grantError) Error() string {
	text := "it answered " + clean(e.code, 100)
	if e.description != "" {
		text += ": " + clean(e.description, 300)
	}
	return text
}

// grantFailure returns an error of package oauth2 with the texts of the server cleaned.
func grantFailure(err error) error {
	e, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return &saidError{err}
	case e.ErrorCode == "":
		return &saidError{fmt.Errorf("it answered %s", e.Response.Status)}
	}
	return &grantError{e.ErrorCode, e.ErrorDescription}
}

// refusedGrant reports whether an authorization server does not take a code or a refresh token, or
// does not know the client any more.
func refusedGrant(err error) bool {
	e, ok := errors.AsType[*grantError](err)
	return ok && (e.code == "invalid_grant" || e.code == "invalid_client" || e.code == "unauthorized_client")
}

// The ways in which a client shows its secret.
const (
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
)

// refreshed returns the login with new tokens.
func (l *Login) refreshed(ctx context.Context, client *http.Client) (*Login, error) {
	// Package oauth2 sends no resource when it refreshes by itself. A code that is empty counts as
	// none.
	return l.grant(ctx, client, "", "", oauth2.SetAuthURLParam("grant_type", "refresh_token"),
		oauth2.SetAuthURLParam("refresh_token", l.RefreshToken))
}

// grant returns the login with tokens of the issuer.
func (l *Login) grant(ctx context.Context, client *http.Client, code, redirect string,
	options ...oauth2.AuthCodeOption) (*Login, error) {
	config := oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret, RedirectURL: redirect,
		Endpoint: oauth2.Endpoint{TokenURL: l.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams}}
	if l.basic() {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	options = append(options, oauth2.SetAuthURLParam("resource", l.Resource))
	t, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), code, options...)
	switch {
	case err != nil:
		return nil, grantFailure(err)
	case !strings.EqualFold(t.TokenType, "Bearer"):
		return nil, fmt.Errorf("it gave a token of the type %q, and only bearer tokens are known",
			clean(t.TokenType, 40))
	case strings.ContainsFunc(t.AccessToken, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("it gave a token that cannot be in a header")
	}
	now := *l
	now.AccessToken, now.Expiry = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		now.RefreshToken = t.RefreshToken
	}
	if scope, _ := t.Extra("scope").(string); scope != "" {
		now.Scopes = readScopes(scope)
	}
	return &now, nil
}

// basic reports whether the client shows its secret in a header.
func (l *Login) basic() bool { return l.ClientSecret != "" && l.AuthMethod == authBasic }

// revoke ends the tokens of a login at its issuer. An issuer without an endpoint for that keeps
// them until they expire.
func (l *Login) revoke(ctx context.Context, client *http.Client) error {
	var errs []error
	for kind, token := range map[string]string{"refresh_token": l.RefreshToken, "access_token": l.AccessToken} {
		if token != "" && l.RevocationEndpoint != "" {
			errs = append(errs, l.revokeToken(ctx, client, url.Values{"token": {token}, "token_type_hint": {kind}}))
		}
	}
	return errors.Join(errs...)
}

func (l *Login) revokeToken(ctx context.Context, client *http.Client, form url.Values) error {
	if !l.basic() {
		form.Set("client_id", l.ClientID)
		if l.ClientSecret != "" {
			form.Set("client_secret", l.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if l.basic() {
		req.SetBasicAuth(url.QueryEscape(l.ClientID), url.QueryEscape(l.ClientSecret))
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer drain(resp)
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it answered %s", refusal(resp))
	}
	return nil
}
