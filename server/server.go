package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/web"
)

// maxLine is the length of a line of docs/protocol.md.
const maxLine = protocol.MaxLine

// Server runs sessions for clients. It is an [http.Handler], and safe for concurrent use.
type Server struct {
	options  Options
	times    times
	register *register
	accounts []*account
	mux      *http.ServeMux
	page     *web.Server
	parents  sync.Map               // of sessions that are not in the register, by id
	document func() ([]byte, error) // Document, computed once
	most     int                    // sessions of a token, whether they are open or not
	metrics  metrics

	running   sync.WaitGroup  // sessions that are open, and what opens them
	streams   context.Context // ends when watchers have to go
	end       context.CancelFunc
	draining  atomic.Bool
	died      bool // the server before this one did not end in order
	reserving sync.Mutex
	unsaved   chan struct{} // has a token if the register has to be written

	mu       sync.Mutex
	sessions map[string]*session
	watchers map[*changes]bool
}

// New returns a server with the sessions that it had when it ended last. The error wraps [ErrInUse]
// if another process goes on to serve the State directory. The caller calls Serve, or Close.
func New(ctx context.Context, o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	register, was, err := openRegister(ctx, o.State)
	if err != nil {
		return nil, fmt.Errorf("cannot keep sessions in %s: %w", o.State, err)
	}
	s := &Server{options: o, times: usualTimes(), register: register, unsaved: make(chan struct{}, 1),
		document: sync.OnceValues(Document), most: maxSessions,
		sessions: map[string]*session{}, watchers: map[*changes]bool{}}
	s.died = !was.Drained
	s.streams, s.end = context.WithCancel(context.Background())
	s.page = s.newPage()
	s.mux = s.newMux()
	s.withPage(s.mux)
	for _, t := range o.Tokens {
		s.accounts = append(s.accounts, &account{Token: t, sum: sha256.Sum256([]byte(t.Token)),
			keys: map[string]*keyed{}})
	}
	for _, k := range was.Sessions {
		s.sessions[k.ID] = s.newSession(k)
	}
	return s, nil
}

// account returns the account of the request's token.
func (s *Server) account(r *http.Request) *account {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return nil
	}
	token, is := strings.CutPrefix(given[0], "Bearer ")
	sum := sha256.Sum256([]byte(token))
	var found *account
	for _, a := range s.accounts { // all of them, so that the time does not depend on the token
		if subtle.ConstantTimeCompare(sum[:], a.sum[:]) == 1 && is {
			found = a
		}
	}
	return found
}

// find returns the session with an id, or nil.
func (s *Server) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// all returns the sessions, the oldest first.
func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int { // Created never changes
		return cmp.Or(a.kept.Created.Compare(b.kept.Created), strings.Compare(a.id, b.id))
	})
}

// visible returns the sessions that a token sees.
func (s *Server) visible(a *account) []Session {
	list := []Session{}
	for _, x := range s.all() {
		if a.sees(x.kept.Token) {
			list = append(list, x.summary())
		}
	}
	return list
}

// maxSessions limits the sessions of a token, whether they are open or not: all of them are in
// memory, and written with each change of one.
const maxSessions = 1000

// add adds a session, or returns the one with its id. The error says that its token has too many.
func (s *Server) add(k kept) (x *session, isNew bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x = s.sessions[k.ID]; x != nil {
		return x, false, nil
	}
	has := 0
	for _, other := range s.sessions {
		if other.kept.Token == k.Token { // which never changes
			has++
		}
	}
	if has >= s.most {
		return nil, false, limited(time.Minute, "the token %s has %d sessions already; delete some", k.Token, has)
	}
	x = s.newSession(k)
	s.sessions[k.ID] = x
	return x, true, nil
}

// forget removes a session from the register.
func (s *Server) forget(x *session) error {
	s.mu.Lock()
	delete(s.sessions, x.id)
	s.mu.Unlock()
	s.changed(x.id, x.kept.Token)
	return s.save()
}

// reserve marks a session as open, unless its token has too many open ones.
func (s *Server) reserve(x *session) error {
	s.reserving.Lock()
	defer s.reserving.Unlock()
	open := 0
	for _, other := range s.all() {
		if k, _ := other.now(); k.Token == x.kept.Token && k.Open && other != x {
			open++
		}
	}
	if open >= s.options.Limits.Sessions {
		return limited(time.Minute, "the token %s has %d sessions open already; close or delete some", x.kept.Token,
			open)
	}
	x.change(func(k *kept) { k.Open = true })
	return nil
}

// save writes the register.
func (s *Server) save() error {
	return s.register.write(func() registered { return s.registered(false) })
}

// registered returns the content of the register.
func (s *Server) registered(drained bool) registered {
	content := registered{Drained: drained, Sessions: []kept{}}
	for _, x := range s.all() {
		k, _ := x.now()
		content.Sessions = append(content.Sessions, k)
	}
	return content
}

// saveSoon lets keep write the register. It does not wait.
func (s *Server) saveSoon() {
	select {
	case s.unsaved <- struct{}{}:
	default:
	}
}

// changed tells watchers that a session of a token may have changed. It does not wait.
func (s *Server) changed(id, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		w.ids[id] = token
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// takeChanged returns the sessions that have changed since its last call, with their tokens.
func (s *Server) takeChanged(w *changes) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := w.ids
	w.ids = map[string]string{}
	return ids
}

// isDraining reports whether the server is about to end.
func (s *Server) isDraining() bool { return s.draining.Load() }

// keepRules stores rules for later sessions.
func (s *Server) keepRules(ctx context.Context, project string, rules []string) (string, error) {
	if s.options.KeepRules == nil {
		return "", errors.New("this server keeps no rules")
	}
	return s.options.KeepRules(ctx, project, rules)
}
