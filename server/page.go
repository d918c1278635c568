package server

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/webguard"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/web"
)

// newPage returns the server of the page. The page reads the journals, and acts on sessions through
// the API like any client.
func (s *Server) newPage() *web.Server {
	store := s.options.Config.Store
	return web.New(web.Options{Store: store, Masker: s.options.Masker, Facts: s.options.Facts, OfServer: true,
		SessionMasker: func(id string) (*secret.Masker, error) {
			if x := s.above(s.streams, id); x != nil {
				m, err := x.masker()
				if err != nil {
					return nil, x.masked(err)
				}
				return m, nil
			}
			return nil, webguard.Refuse(http.StatusNotFound, "the session was removed, or the server is about to end")
		},
		Sessions: s.listed,
		Own: func(id string) web.Own {
			if x := s.find(id); x != nil {
				return present{x}
			}
			return nil
		}})
}

// withPage adds the page to the routes. The page itself shows nothing without a token.
func (s *Server) withPage(mux *http.ServeMux) {
	page := s.page.Handler()
	for _, path := range []string{"/{$}", "/page.js", "/page.css"} {
		mux.Handle("GET "+path, page)
	}
	for _, path := range []string{"/api/sessions", "/api/sessions/{id}/{what...}"} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			c := &call{server: s, w: w, r: r}
			leave, err := s.admitPage(c)
			if err != nil {
				s.metrics.refused.Add(1)
				s.fail(w, r, err)
				return
			}
			defer leave()
			page.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), accountKey{}, c.account)))
		})
	}
}

// admitPage returns an error for a request of the page that its token may not make now. The caller
// calls leave when the request is answered.
func (s *Server) admitPage(c *call) (leave func(), err error) {
	if err := c.admit(route{}); err != nil {
		return nil, err
	}
	if id := c.r.PathValue("id"); id != "" {
		if x := s.above(c.r.Context(), id); x == nil || !c.account.sees(x.kept.Token) {
			return nil, errNoSession(id)
		}
	}
	if c.r.PathValue("what") == "watch" {
		return s.watch(c)
	}
	return func() {}, nil
}

// accountKey is the key of a request's token in its context.
type accountKey struct{}

// maxDepth limits how deep subagents are below a session.
const maxDepth = 16

// above returns the session with an id, or the one whose subagent has it; nil if there is none.
func (s *Server) above(ctx context.Context, id string) *session {
	for range maxDepth {
		if x := s.find(id); x != nil || id == "" {
			return x
		}
		id = s.parent(ctx, id)
	}
	return nil
}

// parent returns the session whose subagent has an id, or "". It reads each journal once.
func (s *Server) parent(ctx context.Context, id string) string {
	if known, ok := s.parents.Load(id); ok {
		return known.(string)
	}
	found := sessions.Summarize(ctx, s.options.Config.Store, journal.Entry{ID: id})
	if !found.Created.IsZero() { // it has begun
		s.parents.Store(id, found.Parent)
	}
	return found.Parent
}

// listed returns the sessions that the token of a request sees, with their subagents, the most
// recently written first.
func (s *Server) listed(ctx context.Context, limit int) ([]sessions.Summary, error) {
	a, _ := ctx.Value(accountKey{}).(*account)
	store := s.options.Config.Store
	entries, err := sessions.NewestFirst(ctx, store)
	if err != nil || a == nil {
		return nil, err
	}
	var list []sessions.Summary
	for _, e := range entries {
		x := s.above(ctx, e.ID)
		if x == nil || !a.sees(x.kept.Token) { // which never changes
			continue
		}
		if list = append(list, sessions.Summarize(ctx, store, e)); len(list) == limit {
			break
		}
	}
	return list, nil
}

// present implements [web.Own] for a session, whether it is open or not.
type present struct{ x *session }

// Live implements [web.Own].
func (p present) Live(ctx context.Context) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for ctx.Err() == nil {
			events, turned := p.x.present(ctx)
			for event := range events {
				if !yield(event) {
					return
				}
			}
			select {
			case <-turned:
			case <-ctx.Done():
			}
		}
	}
}

// present returns the live state of the session for the page, and a channel that is closed when the
// session is opened or closed, or has changed.
func (x *session) present(ctx context.Context) (events iter.Seq[json.RawMessage], turned <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live != nil {
		return x.live.page.Live(ctx), x.turned
	}
	return slices.Values([]json.RawMessage{atRest(x.server.options.capped(x.kept))}), x.turned
}

// turn tells present that live or kept has changed. x.mu is held.
func (x *session) turn() {
	close(x.turned)
	x.turned = make(chan struct{})
}

// atRest returns the live state of a session that is not open.
func atRest(k kept) json.RawMessage {
	provider, model, _ := strings.Cut(k.Model, "/")
	choice := protocol.Choice{Provider: provider, Model: model, Effort: k.Effort}
	data, err := json.Marshal(protocol.Live{Kind: protocol.KindLive, Held: k.held(), Calls: []protocol.LiveCall{},
		Asks: []attractor.Event{}, Mode: k.Mode, Model: choice, Models: []protocol.Choice{choice}})
	if err != nil { // it can always be encoded
		return nil
	}
	return data
}
