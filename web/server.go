package web

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/attractor-go/attractor/internal/webguard"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/sessions"
)

// Options configure a Server.
type Options struct {
	// Store has the journals of the sessions.
	Store journal.Store
	// Sessions lists sessions, the most recently written first, at most limit of them if that is
	// above 0. Nil lists those of the Store.
	Sessions func(ctx context.Context, limit int) ([]sessions.Summary, error)
	// Masker masks secrets in all that the page gets. Nil masks none.
	Masker *secret.Masker
	// SessionMasker returns the masker for all that the page gets of a session. Nil returns Masker.
	SessionMasker func(id string) (*secret.Masker, error)
	// Facts has the prices of models. Nil has none.
	Facts llm.Lookup
	// Own returns the session of an id if this process has it, otherwise nil. It may be nil.
	Own func(id string) Own
	// OfServer says that package server serves the page by Handler. Then the page acts on sessions
	// by the API of that server.
	OfServer bool
}

// Server serves the page and its requests. It answers only over loopback connections, only requests
// that name a loopback host and, except for the page itself, only those that have its token.
type Server struct {
	options Options
	limits  limits
	token   string
	mux     *http.ServeMux
	hub     *hub
	ctx     context.Context // ends with the Server
	end     context.CancelFunc
	// watching has room for a limited number of watchers.
	watching chan struct{}
}

// New returns a Server with a random token. The caller must call Close.
func New(o Options) *Server {
	if o.Masker == nil {
		o.Masker = new(secret.Masker)
	}
	if o.SessionMasker == nil {
		o.SessionMasker = func(string) (*secret.Masker, error) { return o.Masker, nil }
	}
	if o.Own == nil {
		o.Own = func(string) Own { return nil }
	}
	if o.Sessions == nil {
		o.Sessions = func(ctx context.Context, limit int) ([]sessions.Summary, error) {
			return sessions.List(ctx, o.Store, limit)
		}
	}
	watchers := maxWatchers
	if o.OfServer { // package server limits the watchers of each token
		watchers *= 16
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Server{options: o, limits: usualLimits(), token: webguard.NewToken(), hub: newHub(o), ctx: ctx, end: end,
		watching: make(chan struct{}, watchers)}
	s.mux = s.routes()
	return s
}

// Close ends the streams of all watchers and the reading of all journals, and waits for their end.
func (s *Server) Close() error {
	s.end()
	return s.hub.close()
}

// routes returns the handlers of all paths.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	static := func(kind string, data func() []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { write(w, kind, data()) }
	}
	mux.HandleFunc("GET /{$}", static("text/html; charset=utf-8", page))
	js, css := pageJS, pageCSS
	if s.options.OfServer {
		js, css = serverJS, serverCSS
	}
	mux.HandleFunc("GET /page.js", static("text/javascript; charset=utf-8", js))
	mux.HandleFunc("GET /page.css", static("text/css; charset=utf-8", css))
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /api/sessions":                     s.serveSessions,
		"GET /api/sessions/{id}/watch":          s.serveWatch,
		"GET /api/sessions/{id}/items/{i}":      s.serveItem,
		"GET /api/sessions/{id}/outputs/{hash}": s.serveOutput,
		"GET /api/sessions/{id}/search":         s.serveSearch,
		"POST /api/sessions/{id}/do":            s.serveDo,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	return mux
}

// write answers a request.
func write(w http.ResponseWriter, kind string, data []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data) // an error means that nobody reads the answer
}

// writeJSON answers a request with a value.
func writeJSON(w http.ResponseWriter, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	write(w, "application/json", data)
	return nil
}

// refuse returns an error for a wrong request.
func refuse(status int, text string) error { return webguard.Refuse(status, text) }

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusInternalServerError
	var given *webguard.Error
	switch {
	case errors.As(err, &given):
		status = given.Status
	case r.Context().Err() != nil:
		return // nobody waits for the answer
	case errors.Is(err, fs.ErrInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, fs.ErrNotExist):
		status = http.StatusNotFound
	case errors.Is(err, journal.ErrCorrupt): // asking again does not help
		status = http.StatusUnprocessableEntity
	}
	data, err := json.Marshal(map[string]string{"error": s.options.Masker.String(err.Error())})
	if err != nil { // cannot happen with a map of strings
		data = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // an error means that nobody reads the answer
}
