package providers

import (
	"net"
	"net/netip"
	"strings"
)

// ollamaURL returns the base URL of an Ollama server at the address in OLLAMA_HOST, which has the
// forms that Ollama itself accepts: a host, a port after a colon, both, or a URL. Without an
// address the server is on this machine. A server that listens on all addresses is reached on this
// machine, too.
func ollamaURL(address string) string {
	address = strings.Trim(address, "\"' \t")
	scheme, rest, hasScheme := strings.Cut(address, "://")
	port := ""
	if !hasScheme {
		scheme, rest, port = "http", address, "11434"
	}
	host, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@') + 1
	user, host := host[:at], host[at:]
	if h, p, err := net.SplitHostPort(host); err == nil {
		host, port = h, p
	} else {
		host = strings.Trim(host, "[]")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	switch {
	case port != "":
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	path = strings.TrimSuffix(strings.TrimSuffix("/"+path, "/"), "/v1")
	return scheme + "://" + user + host + path + "/v1"
}
