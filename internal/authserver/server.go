package authserver

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Server is an authorization server. Its exported fields may be changed before it is used.
type Server struct {
	URL string // of the server, which is its issuer

	// Metadata changes the metadata document before it is sent.
	Metadata func(m map[string]any)
	// Redirect changes the parameters with which the browser comes back to the client.
	Redirect func(q url.Values)
	// Answer changes the answer to a request for tokens.
	Answer func(form url.Values, answer map[string]any)
	// Before sees each request first. It reports whether it has answered it.
	Before func(w http.ResponseWriter, r *http.Request) bool
	// Lifetime is how long access tokens are valid. The default is an hour.
	Lifetime time.Duration

	mu      sync.Mutex
	clients map[string]Client
	logins  []*login
	seen    []Request
}

// Client is a client of the server.
type Client struct {
	Secret    string // empty for a public client
	Redirects []string
}

// Know adds a client that the server knows without a registration.
func (s *Server) Know(id string, c Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = c
}

// Request is a request that the server got.
type Request struct {
	Path   string
	Form   url.Values // of the query and the body
	Header http.Header
	Body   map[string]any // of a registration

	of *http.Request
}

// login holds the outcome of one authorization.
type login struct {
	client, redirect, challenge, resource, scope string
	code                                         string
	used, dead                                   bool
	access, refresh                              []string // the last of each is valid
	expiry                                       time.Time
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	s := &Server{Lifetime: time.Hour, clients: map[string]Client{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.note(r) || s.Before != nil && s.Before(w, r) {
			return
		}
		mux.ServeHTTP(w, r)
	}))
	s.URL = srv.URL
	t.Cleanup(srv.Close)
	return s
}

// note keeps a request.
func (s *Server) note(r *http.Request) bool {
	n := Request{Path: r.URL.Path, Header: r.Header, of: r}
	if r.URL.Path == "/register" {
		if err := json.NewDecoder(r.Body).Decode(&n.Body); err != nil {
			return false
		}
	} else if err := r.ParseForm(); err != nil {
		return false
	}
	n.Form = r.Form
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, n)
	return true
}

// Requests returns the requests for a path so far.
func (s *Server) Requests(path string) (list []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.seen {
		if r.Path == path {
			list = append(list, r)
		}
	}
	return list
}

func (s *Server) metadata(w http.ResponseWriter, _ *http.Request) {
	m := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token",
		"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_basic"},
	}
	if s.Metadata != nil {
		s.Metadata(m)
	}
	answer(w, http.StatusOK, m)
}

// register knows a new client from now on.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.seen[slices.IndexFunc(s.seen, func(n Request) bool { return n.of == r })].Body
	var redirects []string
	list, _ := m["redirect_uris"].([]any)
	for _, u := range list {
		text, _ := u.(string)
		redirects = append(redirects, text)
	}
	if len(redirects) == 0 {
		refuse(w, "invalid_redirect_uri", "there is none")
		return
	}
	id := "client-" + rand.Text()
	s.clients[id] = Client{Redirects: redirects}
	m["client_id"] = id
	answer(w, http.StatusCreated, m)
}

// authorize approves a request and sends the browser back.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	client, known := s.clients[q.Get("client_id")]
	s.mu.Unlock()
	switch {
	case !known:
		http.Error(w, "unknown client", http.StatusBadRequest)
		return
	case !slices.Contains(client.Redirects, q.Get("redirect_uri")):
		http.Error(w, "unknown redirect_uri", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}, "iss": {s.URL}}
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" ||
		q.Get("resource") == "" {
		back.Set("error", "invalid_request")
	} else {
		l := &login{client: q.Get("client_id"), redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"),
			resource: q.Get("resource"), scope: q.Get("scope"), code: "code-" + rand.Text()}
		back.Set("code", l.code)
		s.mu.Lock()
		s.logins = append(s.logins, l)
		s.mu.Unlock()
	}
	if s.Redirect != nil {
		s.Redirect(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func answer(w http.ResponseWriter, status int, m map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(m) // a client that is gone needs no answer
}

func refuse(w http.ResponseWriter, code, why string) {
	answer(w, http.StatusBadRequest, map[string]any{"error": code, "error_description": why})
}
