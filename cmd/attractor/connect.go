package main

import (
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
)

// connection is a client and the provider that was chosen.
type connection struct {
	client   *llm.Client
	provider string
}

// connect makes the client that the flags and the environment ask for.
func (f *runFlags) connect(getenv func(string) string) (*connection, error) {
	const name, keyVar, urlVar = "anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
	if f.provider != "" && f.provider != name {
		return nil, fail(exitUsage, "unknown provider %q; there is %s", f.provider, name)
	}
	key, base := getenv(keyVar), first(f.baseURL, getenv(urlVar))
	if key == "" && base == "" {
		return nil, fail(exitAccess, "no API key: set %s, or %s or --base-url for a server that needs none.\n"+
			"To see a session without a key, run: attractor demo", keyVar, urlVar)
	}
	provider, err := anthropic.New(anthropic.Options{APIKey: key, BaseURL: base, IdleTimeout: f.idleTimeout})
	if err != nil {
		return nil, fail(exitUsage, "%w", err)
	}
	return &connection{client: &llm.Client{Providers: []llm.Provider{provider}}, provider: name}, nil
}
