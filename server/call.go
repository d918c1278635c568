package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/internal/webguard"
)

// call is a request and its answer.
type call struct {
	server  *Server
	account *account // nil for what is public
	w       http.ResponseWriter
	r       *http.Request
	body    []byte
	held    int64 // bytes that hold has counted

	status int
	answer []byte // nil for streams
}

// reply sets the answer to a value.
func (c *call) reply(status int, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", kindJSON)
	c.status, c.answer = status, data
	return nil
}

// sessionOf returns the session with an id, if the token sees it.
func (c *call) sessionOf(id string) (*session, error) {
	if x := c.server.find(id); x != nil && c.account.sees(x.kept.Token) {
		return x, nil
	}
	return nil, errNoSession(id)
}

// work returns a context for operations that go on if the client disconnects. It ends after limit.
func (c *call) work(limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.r.Context()), limit)
}

// ServeHTTP implements [http.Handler]. It checks by which name a request reaches the server, and
// which page has made it, before anything else looks at it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.metrics.requests.Add(1)
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if err := s.check(r); err != nil {
		h.Set("Connection", "close")
		s.fail(w, r, err)
		return
	}
	handler, pattern := s.mux.Handler(r)
	if pattern == "" {
		s.fail(w, r, webguard.Missing(handler, h, r, "/openapi.json describes the API"))
		return
	}
	s.mux.ServeHTTP(w, r)
}

// check returns an error for a request with the name of another host, or from a page of another
// origin.
func (s *Server) check(r *http.Request) error {
	named := false
	for _, host := range s.options.Hosts {
		named = named || strings.EqualFold(webguard.NameOf(r.Host), host)
	}
	if _, here := webguard.LoopbackPort(r); !named && (!here || !webguard.IsLoopbackHost(r.Host)) {
		return webguard.Refuse(http.StatusMisdirectedRequest, "this server has no such name")
	}
	scheme := "http"
	if r.TLS != nil || s.options.BehindTLS && named {
		scheme = "https"
	}
	if err := webguard.CheckOrigin(r, scheme); err != nil {
		return err
	}
	return webguard.CheckSite(r)
}

// handler returns what serves a route.
func (s *Server) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c := &call{server: s, w: w, r: req}
		err := c.admit(r)
		defer c.releaseHeld()
		key := req.Header.Get("Idempotency-Key")
		switch {
		case err != nil:
		case req.Method == http.MethodPost && key != "":
			err = c.once(key, func() error { return r.serve(s, c) })
		default:
			err = r.serve(s, c)
		}
		switch {
		case err != nil:
			s.metrics.refused.Add(1)
			s.fail(w, req, err)
		case c.status != 0:
			if c.status >= http.StatusBadRequest {
				s.metrics.refused.Add(1)
			}
			w.Header().Set("Content-Length", strconv.Itoa(len(c.answer)))
			w.WriteHeader(c.status)
			_, _ = w.Write(c.answer) // an error means that nobody reads it
		}
	})
}

// admit returns an error for a request that its token may not make now, and reads the body.
func (c *call) admit(r route) error {
	s := c.server
	if !r.public {
		if c.account = s.account(c.r); c.account == nil {
			return webguard.Refuse(http.StatusUnauthorized, "the token is missing or wrong; send the header "+
				"Authorization: Bearer TOKEN")
		}
		if r.owner && !c.account.Owner {
			return forbidden("only the owner's token can do this")
		}
		if wait, ok := c.account.request(s.options.Limits.Requests, time.Now()); !ok {
			return limited(wait, "the token %s has made %d requests within a minute", c.account.Name,
				s.options.Limits.Requests)
		}
	}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead { // which the mux takes for GET
		return nil
	}
	if s.isDraining() {
		return errDraining()
	}
	if len(c.r.Header.Get("Idempotency-Key")) > maxKey {
		return invalid("an Idempotency-Key has at most %d bytes", maxKey)
	}
	size := c.r.ContentLength
	if most := s.options.Limits.Body; size < 0 || size > most {
		size = most
	}
	if err := c.hold(size); err != nil {
		return err
	}
	control := http.NewResponseController(c.w)
	if err := control.SetWriteDeadline(time.Now().Add(openTime + lineTime + s.times.answer)); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, s.options.Limits.Body))
	var large *http.MaxBytesError
	if err != nil && !errors.As(err, &large) {
		return invalid("the body cannot be read: %v", err)
	}
	c.body = body
	return err
}

// decode decodes the body, a JSON object without unknown members. Without a body it does nothing.
func (c *call) decode(to any) error {
	if len(c.body) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err == nil && d.More() {
		err = errors.New("there is more behind the object")
	}
	if err != nil {
		return invalid("%v; /openapi.json has what it can be", texts.JSONError("the body", err))
	}
	return nil
}

// text sets the answer to a text.
func (c *call) text(kind string, text []byte) error {
	c.w.Header().Set("Content-Type", kind)
	c.status, c.answer = http.StatusOK, text
	return nil
}
