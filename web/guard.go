package web

import (
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// policy is the page's Content-Security-Policy: only its own files, and no text becomes markup or
// code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// ServeHTTP implements [http.Handler]. It checks where a request comes from before anything else
// looks at it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guardAnswer(w.Header())
	err := s.check(r)
	if err != nil {
		w.Header().Set("Connection", "close")
		s.fail(w, r, err)
		return
	}
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.fail(w, r, missing(handler, w.Header(), r))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// guardAnswer sets the headers that confine the page. Nothing is cached: a page of another version
// must not be shown, and what a session did must not be kept.
func guardAnswer(h http.Header) {
	for name, value := range map[string]string{
		"Content-Security-Policy":      policy,
		"X-Content-Type-Options":       "nosniff",
		"X-Frame-Options":              "DENY",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cross-Origin-Embedder-Policy": "require-corp",
		"Permissions-Policy":           "camera=(), microphone=(), geolocation=(), usb=(), serial=(), payment=()",
		"Cache-Control":                "no-store",
	} {
		h.Set(name, value)
	}
}

// check returns an error for a request that the page would not make.
func (s *Server) check(r *http.Request) error {
	port, ok := loopbackPort(r)
	if !ok {
		return refuse(http.StatusForbidden, "the viewer answers only over a loopback connection")
	}
	if !isLoopbackHost(r.Host) {
		return refuse(http.StatusMisdirectedRequest,
			"the viewer is at http://127.0.0.1:"+port+"; its only other names are localhost and [::1]")
	}
	isAPI := strings.HasPrefix(r.URL.Path, "/api/")
	if err := checkOrigin(r, isAPI); err != nil {
		return err
	}
	if isAPI && !s.hasToken(r) {
		return refuse(http.StatusUnauthorized,
			"the token is missing or wrong; open the URL that the command has printed last")
	}
	return nil
}

// loopbackPort returns the port of the server's end of the connection, and whether both ends are on
// this machine.
func loopbackPort(r *http.Request) (port string, ok bool) {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok || !local.IP.IsLoopback() {
		return "", false
	}
	return strconv.Itoa(local.Port), true
}

// isLoopbackHost reports whether a Host header names this machine, with any port, because a
// forwarded port has its own number. A name of somebody else's that leads here does not.
func isLoopbackHost(host string) bool {
	name, port, hasPort := host, "", false
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		name, port, hasPort = host[:at], host[at+1:], true
	}
	if _, err := strconv.ParseUint(port, 10, 16); hasPort && err != nil {
		return false
	}
	return name == "127.0.0.1" || name == "localhost" || name == "[::1]"
}

// checkOrigin returns an error for a request that a page of another origin has made. The page
// itself may be opened from anywhere, because it shows nothing without the token in its fragment.
func checkOrigin(r *http.Request, isAPI bool) error {
	given := r.Header.Values("Origin")
	if len(given) > 1 || len(given) == 1 && given[0] != "http://"+r.Host {
		return refuse(http.StatusForbidden, "a page of another origin has no access")
	}
	if len(given) == 0 && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(http.StatusForbidden, "a request that changes something needs the header Origin: http://"+r.Host)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	navigates := !isAPI && r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if site != "" && site != "same-origin" && site != "none" && !navigates {
		return refuse(http.StatusForbidden, "a page of another site has no access")
	}
	return nil
}

// hasToken reports whether a request has the token.
func (s *Server) hasToken(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	return len(given) == 1 && subtle.ConstantTimeCompare([]byte(given[0]), []byte("Bearer "+s.token)) == 1
}

// missing returns the error for a path or a method that does not exist, with the methods that do in
// the header.
func missing(handler http.Handler, h http.Header, r *http.Request) error {
	answer := &discarded{header: http.Header{}}
	handler.ServeHTTP(answer, r)
	if answer.status == http.StatusMethodNotAllowed {
		h.Set("Allow", answer.header.Get("Allow"))
		return refuse(answer.status, r.Method+" is not possible here; possible are "+answer.header.Get("Allow"))
	}
	return refuse(http.StatusNotFound, "there is nothing at this path; the page is at /")
}

// discarded keeps the status and the headers of an answer.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(p []byte) (int, error) { return len(p), nil }
