package cli

import (
	"errors"
	"net/http"

	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providers"
)

// notFoundHint returns a line that says what to do about a model or a URL that the server does not
// have.
func notFoundHint(err error) string {
	if kind, ok := ownServer(err); ok {
		list, ends := kind.Name, ""
		if kind.NeedsURL {
			list, ends = list+" --base-url URL", ": it ends in /v1"
		}
		return "\nCheck the name of the model (attractor models --provider " + list +
			"), and the server's address (" + kind.BaseURLVar + " or --base-url)" + ends + "."
	}
	if named, ok := namedServer(err); ok {
		return "\nCheck the name of the model (attractor models --provider " + named.Name +
			"), and base_url of the provider in your config.json."
	}
	return "\nCheck the name of the model, and the URL: for openai it ends in /v1."
}

// namedServer returns the provider whose call failed, if it is one of the user's own.
func namedServer(err error) (settings.Named, bool) {
	var failed *llm.Error
	if errors.As(err, &failed) {
		for _, p := range namedProviders() {
			if p.Name == failed.Provider {
				return p, true
			}
		}
	}
	return settings.Named{}, false
}

// ownServer returns the kind of the provider whose call failed, if its servers are the user's own.
func ownServer(err error) (providers.Kind, bool) {
	kind, ok := failedKind(err)
	return kind, ok && (kind.Local || kind.NeedsURL)
}

// failedKind returns the kind of the provider whose call failed, if it is in the table of
// providers.
func failedKind(err error) (providers.Kind, bool) {
	var failed *llm.Error
	if !errors.As(err, &failed) {
		return providers.Kind{}, false
	}
	kind, err := providers.Find(failed.Provider)
	return kind, err == nil
}

// keyHint returns a line that says where a key comes from that a server refused.
func keyHint(err error) string {
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Status == 0 { // no server's: it says what is missing
		return ""
	}
	if named, ok := namedServer(err); ok {
		return namedKeyHint(named.Kind)
	}
	if kind, ok := failedKind(err); ok && len(kind.KeyVars) > 0 {
		return "\nCheck the API key in the environment: " + texts.Or(kind.KeyVars) + "."
	}
	return "\nCheck the API key in the environment."
}

// namedKeyHint returns the line about a refused key of a provider of config.json.
func namedKeyHint(kind providers.Kind) string {
	switch needed := kind.Variables(); {
	case kind.KeyCommand != "":
		return "\nCheck what key_command of the provider " + kind.Name + " in your config.json prints."
	case len(needed) > 0:
		return "\nCheck the API key in the environment: " + texts.Or(needed) + "."
	}
	return "\nNo key of the environment was sent: name its variable in key_variable or headers of the provider " +
		kind.Name + " in your config.json."
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
	own, isOwn := ownServer(err)
	switch {
	case errors.Is(err, llm.ErrAuthentication), errors.Is(err, llm.ErrAccessDenied):
		return keyHint(err)
	case errors.Is(err, llm.ErrNotFound):
		return notFoundHint(err)
	case errors.Is(err, llm.ErrQuota):
		return "\nThe account at the provider has no money or quota left. --fallback names another model that " +
			"takes over."
	case errors.Is(err, llm.ErrServer) && isOwn:
		return "\nLook at what the server prints, and check its address (" + own.BaseURLVar + " or --base-url)."
	case errors.Is(err, llm.ErrRateLimit), errors.Is(err, llm.ErrOverloaded), errors.Is(err, llm.ErrServer):
		return "\nTry again later. --fallback names another model that takes over."
	case errors.Is(err, llm.ErrNetwork) && isFinal(err): // a certificate that is not trusted
		return "\nIf a proxy of your company signs such certificates, SSL_CERT_FILE names a file with its authority " +
			"(on Linux; elsewhere the system has to trust it)."
	case errors.Is(err, llm.ErrNetwork):
		if isOwn {
			start := "Start the server"
			if own.Start != "" {
				start += " (" + own.Start + ")"
			}
			return "\n" + start + ", or check its address (" + own.BaseURLVar + " or --base-url)."
		}
		if named, ok := namedServer(err); ok {
			return "\nCheck that its server runs, the network, the proxy (HTTPS_PROXY), and base_url of the " +
				"provider " + named.Name +
				" in your config.json."
		}
		hint := "\nCheck the network, the proxy (HTTPS_PROXY), and the URL of the provider"
		if _, ok := failedKind(err); !ok { // the program's own, which knows its server
			return hint + "."
		}
		return hint + " (--base-url)."
	case errors.Is(err, llm.ErrTimeout):
		return "\nFor a model that is slow to begin, pass a longer --idle-timeout."
	case errors.Is(err, llm.ErrInvalidRequest):
		if isOwn {
			return "\nThe model has to support tools, and the server has to read its calls: docs/local.md says which " +
				"options do that."
		}
	case errors.Is(err, llm.ErrContextLength) && tooManyBytes(err):
		return "\nA server on the way to the model takes no requests of so many bytes: raise its limit " +
			"(client_max_body_size of nginx), or go back: attractor run --fork ID@TURN."
	case errors.Is(err, llm.ErrContextLength):
		return "\nChoose a model with a larger window (attractor models), start a server of your own with a larger " +
			"one, or go back: attractor run --fork ID@TURN."
	}
	return ""
}

func isFinal(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Final
}

// tooManyBytes reports that a request was refused for its size in bytes, which is most often the
// limit of a proxy.
func tooManyBytes(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Status == http.StatusRequestEntityTooLarge
}
