package cli

import (
	"errors"
	"net/http"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// failedServer is the provider whose call failed.
type failedServer struct {
	providers.Kind
	known bool // in the table of providers
	named bool // in the user's config.json
}

// serverOf returns the provider whose call failed. It is neither known nor named if it is the
// program's own.
func serverOf(failed *llm.Error) failedServer {
	for _, p := range namedProviders() {
		if p.Name == failed.Provider {
			return failedServer{Kind: p.Kind, named: true}
		}
	}
	kind, err := providers.Find(failed.Provider)
	return failedServer{Kind: kind, known: err == nil}
}

// own reports whether the servers of a known provider are the user's own.
func (s failedServer) own() bool { return s.known && (s.Local || s.NeedsURL) }

// notFound returns a line that says what to do about a model or a URL that the server does not
// have.
func (s failedServer) notFound() string {
	const check = "\nCheck the name of the model (attractor models --provider "
	switch {
	case s.named:
		return check + s.Name + "), and base_url of the provider in your config.json."
	case s.known && s.NeedsURL:
		return check + s.Name + " --base-url URL), and the server's address (" + s.BaseURLVar +
			" or --base-url): it ends in /v1."
	case s.own():
		return check + s.Name + "), and the server's address (" + s.BaseURLVar + " or --base-url)."
	}
	return "\nCheck the name of the model, and the URL: for openai it ends in /v1."
}

// refusedKey returns a line that says where a key comes from that the server refused.
func (s failedServer) refusedKey() string {
	keys := s.KeyVars
	if s.named {
		keys = s.Variables()
	}
	switch {
	case s.named && s.KeyCommand != "":
		return "\nCheck what key_command of the provider " + s.Name + " in your config.json prints."
	case len(keys) > 0:
		return "\nCheck the API key in the environment: " + texts.Or(keys) + "."
	case s.named:
		return "\nNo key of the environment was sent: name its variable in key_variable or headers of the provider " +
			s.Name + " in your config.json."
	}
	return "\nCheck the API key in the environment."
}

// unreachable returns a line that says what to do about a server that cannot be reached.
func (s failedServer) unreachable() string {
	switch {
	case s.named:
		return "\nCheck that its server runs, the network, the proxy (HTTPS_PROXY), and base_url of the provider " +
			s.Name + " in your config.json."
	case s.own() && s.Start != "":
		return "\nStart the server (" + s.Start + "), or check its address (" + s.BaseURLVar + " or --base-url)."
	case s.own():
		return "\nStart the server, or check its address (" + s.BaseURLVar + " or --base-url)."
	case s.known:
		return "\nCheck the network, the proxy (HTTPS_PROXY), and the URL of the provider (--base-url)."
	}
	return "\nCheck the network, the proxy (HTTPS_PROXY), and the URL of the provider." // which the program knows
}

// modelExit returns the exit code for an error of a provider.
func modelExit(err error) int {
	switch {
	case errors.Is(err, llm.ErrAuthentication), errors.Is(err, llm.ErrAccessDenied):
		return exitAccess
	case llm.Retryable(err):
		return exitLater
	}
	return exitFailed
}

// modelHint returns a line that says what to do about a failed model call, or "".
func modelHint(err error) string {
	failed, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return ""
	}
	server := serverOf(failed)
	switch failed.Kind {
	case llm.ErrAuthentication, llm.ErrAccessDenied:
		if failed.Status == 0 { // no server's: it says what is missing
			return ""
		}
		return server.refusedKey()
	case llm.ErrNotFound:
		return server.notFound()
	case llm.ErrQuota:
		return "\nThe account at the provider has no money or quota left. --fallback names another model that " +
			"takes over."
	case llm.ErrRateLimit, llm.ErrOverloaded, llm.ErrServer:
		if failed.Kind == llm.ErrServer && server.own() {
			return "\nLook at what the server prints, and check its address (" + server.BaseURLVar +
				" or --base-url)."
		}
		return "\nTry again later. --fallback names another model that takes over."
	case llm.ErrNetwork:
		if failed.Final { // a certificate that is not trusted
			return "\nIf a proxy of your company signs such certificates, SSL_CERT_FILE names a file with its " +
				"authority (on Linux; elsewhere the system has to trust it)."
		}
		return server.unreachable()
	case llm.ErrTimeout:
		return "\nFor a model that is slow to begin, pass a longer --idle-timeout."
	case llm.ErrInvalidRequest:
		if server.own() {
			return "\nThe model has to support tools, and the server has to read its calls: docs/local.md says which " +
				"options do that."
		}
	case llm.ErrContextLength:
		if failed.Status == http.StatusRequestEntityTooLarge { // most often the limit of a proxy
			return "\nA server on the way to the model takes no requests of so many bytes: raise its limit " +
				"(client_max_body_size of nginx), or go back: attractor run --fork ID@TURN."
		}
		return "\nChoose a model with a larger window (attractor models), start a server of your own with a larger " +
			"one, or go back: attractor run --fork ID@TURN."
	}
	return ""
}
