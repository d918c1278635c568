package mcp

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Whatever a server says about authorization, what is read of it can be sent, and a resource that
// covers the server has its origin.
func FuzzM3_WhatServersSay(f *testing.F) {
	f.Add(`Bearer error="insufficient_scope", scope="a b", resource_metadata="https://x/y"`,
		"https://mcp.example.com/mcp", "https://mcp.example.com/mcp/a")
	f.Add(`Basic realm="x", Bearer scope="a\"b"`, "https://mcp.example.com", "https://mcp.example.com:443/")
	f.Add(`"`, "https://mcp.example.com.evil.example/", "https://mcp.example.com/")
	f.Add("Bearer scope=\"\u202e\"", "https://mcp.example.com/mc", "https://mcp.example.com/mcp")
	f.Add("Bearer", "https://me@mcp.example.com/", "https://mcp.example.com/")
	f.Fuzz(func(t *testing.T, header, resource, server string) {
		resp := &http.Response{Header: http.Header{"Www-Authenticate": {header}}}
		scopes, _ := wantedScopes(resp)
		for _, scope := range scopes {
			if u, err := url.Parse("https://x/?scope=" + url.QueryEscape(scope)); err != nil ||
				u.Query().Get("scope") != scope || strings.ContainsAny(scope, " \r\n\"\\") {
				t.Errorf("the scope %q", scope)
			}
		}
		u, err := serverURL(server)
		if err != nil {
			return
		}
		if r, err := url.Parse(resource); covers(resource, u) && (err != nil || origin(r) != origin(u) ||
			!strings.HasPrefix(u.EscapedPath()+"/", strings.TrimSuffix(r.EscapedPath(), "/"))) {
			t.Errorf("%q covers %q", resource, server)
		}
		if name, err := issuerOf(server); err == nil && strings.Contains(name, ".well-known") &&
			strings.Count(server, ".well-known") == 1 {
			t.Errorf("the issuer of %q is %q", server, name)
		}
	})
}
