package web

import (
	"net/http"
	"strings"

	"github.com/attractor-go/attractor/internal/webguard"
)

// policy is the page's Content-Security-Policy. It allows only the page's own files, and no text as
// markup or code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src " +
	"'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; " +
	"trusted-types 'none'"

// ServeHTTP implements [http.Handler]. It checks where a request comes from before it answers.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guardAnswer(w.Header())
	err := s.check(r)
	if err != nil {
		w.Header().Set("Connection", "close")
		s.fail(w, r, err)
		return
	}
	s.answer(w, r)
}

// answer answers a request that has been checked.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.fail(w, r, webguard.Missing(handler, w.Header(), r, "the page is at /"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// Handler returns a handler that serves the page and its requests without checks. The caller has to
// check where a request comes from, and that the client may see the session in its path.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guardAnswer(w.Header())
		s.answer(w, r)
	})
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
	port, ok := webguard.LoopbackPort(r)
	if !ok {
		return refuse(http.StatusForbidden, "the viewer answers only over a loopback connection")
	}
	if !webguard.IsLoopbackHost(r.Host) {
		return refuse(http.StatusMisdirectedRequest,
			"the viewer is at http://127.0.0.1:"+port+"; its only other names are localhost and [::1]")
	}
	if err := checkOrigin(r); err != nil {
		return err
	}
	if strings.HasPrefix(r.URL.Path, "/api/") && !webguard.HasToken(r, s.token) {
		return refuse(http.StatusUnauthorized,
			"the token is missing or wrong; open the URL that the command has printed last")
	}
	return nil
}

// checkOrigin returns an error for a request that a page of another origin has made.
func checkOrigin(r *http.Request) error {
	if err := webguard.CheckOrigin(r, "http"); err != nil {
		return err
	}
	if r.Header.Get("Origin") == "" && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return refuse(http.StatusForbidden, "a request that changes something needs the header Origin: http://"+r.Host)
	}
	return webguard.CheckSite(r)
}
