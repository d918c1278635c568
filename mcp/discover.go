package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/attractor-go/attractor/internal/netguard"
)

const maxDocument = 1 << 20 // bytes of a document or an answer of an authorization server

// discovered holds what a server and its authorization server say about logins.
type discovered struct {
	resource string
	scopes   []string // what the server says it needs
	issuer   *oauthex.AuthServerMeta
}

// discover finds out where one logs in at a server. The answer is the refusal of a request without
// a token.
func discover(ctx context.Context, client *http.Client, s Server, refused *http.Response) (*discovered, error) {
	u, err := serverURL(s.URL)
	if err != nil {
		return nil, err
	}
	list := challenges(refused)
	resource, err := resourceMetadata(ctx, client, u, list)
	if err != nil {
		return nil, err
	}
	d := &discovered{resource: s.URL}
	if resource != nil {
		d.resource, d.scopes = resource.Resource, readScopes(strings.Join(resource.ScopesSupported, " "))
	}
	for _, c := range list {
		if scopes := readScopes(c.Params["scope"]); c.Scheme == "bearer" && len(scopes) > 0 {
			d.scopes = scopes
		}
	}
	if place := s.OAuth.MetadataURL; place != "" {
		d.issuer, err = issuerAt(ctx, client, place)
	} else {
		d.issuer, err = issuer(ctx, client, u, resource)
	}
	if err != nil {
		return nil, err
	}
	return d, check(s, u, d.issuer)
}

// resourceMetadata returns the metadata of the server, or nil if it has none: an older server is
// its own authorization server.
func resourceMetadata(ctx context.Context, client *http.Client, u *url.URL,
	list []oauthex.Challenge) (*oauthex.ProtectedResourceMetadata, error) {
	const known = "/.well-known/oauth-protected-resource"
	places := []string{u.Scheme + "://" + u.Host + known}
	if path := strings.Trim(u.EscapedPath(), "/"); path != "" {
		places = slices.Insert(places, 0, places[0]+"/"+path)
	}
	for _, c := range list {
		if place := c.Params["resource_metadata"]; place != "" {
			places = slices.Insert(places, 0, place) // the server says where it is
			break
		}
	}
	for _, place := range places {
		m := new(oauthex.ProtectedResourceMetadata)
		found, err := document(ctx, client, place, m)
		if err != nil {
			return nil, fmt.Errorf("the server's metadata at %s: %w", netguard.Shown(place), err)
		}
		if !found {
			continue
		}
		if !covers(m.Resource, u) {
			return nil, fmt.Errorf("the metadata at %s is about %s, not about %s: a token for it is not sent to "+
				"another server", netguard.Shown(place), netguard.Shown(m.Resource), u)
		}
		if len(m.AuthorizationServers) == 0 {
			return nil, fmt.Errorf("the metadata at %s names no authorization server", netguard.Shown(place))
		}
		return m, nil
	}
	return nil, nil
}

// document reads a JSON document. It reports whether there is one.
func document(ctx context.Context, client *http.Client, place string, into any) (found bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer drain(resp)
	switch {
	case resp.StatusCode >= 400 && resp.StatusCode < 500:
		return false, nil
	case resp.StatusCode != http.StatusOK:
		return false, fmt.Errorf("it answered %s", refusal(resp))
	case !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json"):
		return false, nil // the page that a web site shows for any path
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDocument)).Decode(into); err != nil {
		return false, fmt.Errorf("it is not the JSON document that belongs there: %w", err)
	}
	return true, nil
}

// covers reports whether a resource is the server with a URL, or holds all of its path.
func covers(resource string, server *url.URL) bool {
	r, err := url.Parse(resource)
	if err != nil || r.Host == "" || r.User != nil || r.Fragment != "" || origin(r) != origin(server) {
		return false
	}
	if r.RawQuery != "" {
		return r.EscapedPath() == server.EscapedPath() && r.RawQuery == server.RawQuery
	}
	path := strings.TrimSuffix(r.EscapedPath(), "/")
	return path == strings.TrimSuffix(server.EscapedPath(), "/") || strings.HasPrefix(server.EscapedPath(), path+"/")
}

// issuerAt returns the metadata of the authorization server that the configuration names.
func issuerAt(ctx context.Context, client *http.Client, place string) (*oauthex.AuthServerMeta, error) {
	name, err := issuerOf(place)
	if err != nil {
		return nil, err
	}
	m, err := oauthex.GetAuthServerMeta(ctx, place, name, client)
	if err == nil && m == nil {
		err = errors.New("there is none")
	}
	if err != nil {
		return nil, fmt.Errorf("the authorization server's metadata at %s: %w", place, err)
	}
	return m, nil
}

// issuer returns the metadata of the authorization server that the server's metadata name, or of
// the server itself if it has none.
func issuer(ctx context.Context, client *http.Client, u *url.URL,
	resource *oauthex.ProtectedResourceMetadata) (*oauthex.AuthServerMeta, error) {
	name := u.Scheme + "://" + u.Host
	if resource != nil {
		name = resource.AuthorizationServers[0]
	}
	if _, err := serverURL(name); err != nil {
		return nil, fmt.Errorf("the authorization server: %w", err)
	}
	m, err := auth.GetAuthServerMetadata(ctx, name, client)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the authorization server %s: %w", netguard.Shown(name), err)
	case m == nil && resource == nil:
		return nil, errNoOAuth
	case m == nil:
		return nil, fmt.Errorf("the authorization server %s has no metadata: give the URL of its metadata in the "+
			"server's configuration", netguard.Shown(name))
	}
	return m, nil
}

var errNoOAuth = errors.New(
	"the server does not say where one logs in: if it wants a key, put it into the headers of its configuration")

// issuerOf returns the name of the issuer whose metadata is at a well-known place.
func issuerOf(place string) (string, error) {
	u, err := serverURL(place)
	if err != nil {
		return "", fmt.Errorf("the URL of the authorization server's metadata: %w", err)
	}
	u.RawQuery = ""
	const oauth, oidc = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	for _, known := range []string{oauth, oidc} {
		if rest, ok := strings.CutPrefix(u.Path, known); ok && (rest == "" || rest[0] == '/') {
			u.Path = rest
			return u.String(), nil
		}
	}
	if path, ok := strings.CutSuffix(u.Path, oidc); ok {
		u.Path = path
		return u.String(), nil
	}
	return "", fmt.Errorf("%s is not where metadata is: its path has to contain %s or %s", place, oauth, oidc)
}

// check refuses an authorization server that cannot be used safely.
func check(s Server, u *url.URL, m *oauthex.AuthServerMeta) error {
	if !slices.Contains(m.CodeChallengeMethodsSupported, "S256") {
		return fmt.Errorf("the authorization server %s does not support PKCE with S256, without which a login can "+
			"be stolen", netguard.Shown(m.Issuer))
	}
	if m.AuthorizationEndpoint == "" || m.TokenEndpoint == "" {
		return fmt.Errorf("the authorization server %s has no authorization_endpoint or no token_endpoint",
			netguard.Shown(m.Issuer))
	}
	for _, endpoint := range []string{m.AuthorizationEndpoint, m.TokenEndpoint, m.RegistrationEndpoint,
		m.RevocationEndpoint} {
		if err := checkEndpoint(s, u, endpoint); endpoint != "" && err != nil {
			return fmt.Errorf("the authorization server %s: %w", netguard.Shown(m.Issuer), err)
		}
	}
	return nil
}

// checkEndpoint refuses an endpoint that the server itself could not be at. The user's browser
// opens one of them, so its host is checked before it is connected to.
func checkEndpoint(s Server, server *url.URL, endpoint string) error {
	u, err := serverURL(endpoint)
	if err != nil {
		return err
	}
	if isLoopback(server.Hostname()) && isLoopback(u.Hostname()) {
		return nil
	}
	named, err := netguard.ParseHosts(s.Hosts)
	if err != nil {
		return err
	}
	if _, _, _, err := (netguard.Guard{Named: named}).URL(endpoint); err != nil {
		return unnamed(err, u.Hostname(), u.Port())
	}
	return nil
}
