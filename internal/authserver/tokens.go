package authserver

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// token answers requests for tokens.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.client(r)
	if !ok {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	var l *login
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		l = s.redeem(r.Form, id)
	case "refresh_token":
		l = s.refreshed(r.Form, id)
	default:
		refuse(w, "unsupported_grant_type", "")
		return
	}
	if l == nil {
		refuse(w, "invalid_grant", "the code or the token is not valid")
		return
	}
	if r.Form.Get("resource") != l.resource {
		refuse(w, "invalid_target", "another resource was approved")
		return
	}
	l.access, l.refresh, l.expiry = append(l.access, "access-"+rand.Text()), append(l.refresh, "refresh-"+rand.Text()),
		time.Now().Add(s.Lifetime)
	m := map[string]any{"access_token": l.access[len(l.access)-1], "refresh_token": l.refresh[len(l.refresh)-1],
		"token_type": "Bearer", "expires_in": int(s.Lifetime.Seconds())}
	if l.scope != "" {
		m["scope"] = l.scope
	}
	if s.Answer != nil {
		s.Answer(r.Form, m)
	}
	answer(w, http.StatusOK, m)
}

// client returns the id of the client that sent a request, and whether it is known.
func (s *Server) client(r *http.Request) (string, bool) {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	c, known := s.clients[id]
	return id, known && c.Secret == secret
}

// redeem returns the login of a code, or nil. A code that comes twice ends the login.
func (s *Server) redeem(form url.Values, client string) *login {
	for _, l := range s.logins {
		if l.code != form.Get("code") {
			continue
		}
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		if l.used || l.client != client || l.redirect != form.Get("redirect_uri") ||
			l.challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			l.dead = true
			return nil
		}
		l.used = true
		return l
	}
	return nil
}

// refreshed returns the login of a refresh token, or nil. A token that comes twice ends the login.
func (s *Server) refreshed(form url.Values, client string) *login {
	for _, l := range s.logins {
		i := slices.Index(l.refresh, form.Get("refresh_token"))
		if i < 0 {
			continue
		}
		l.dead = l.dead || i != len(l.refresh)-1 || l.client != client
		if l.dead {
			return nil
		}
		return l
	}
	return nil
}

func (s *Server) revoke(_ http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := r.Form.Get("token")
	for _, l := range s.logins {
		l.dead = l.dead || slices.Contains(l.refresh, token) || slices.Contains(l.access, token)
	}
}

// Check returns the scopes of an access token and when it expires, and whether it is valid for a
// resource.
func (s *Server) Check(token, resource string) (scopes []string, expiry time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logins {
		if !l.dead && len(l.access) > 0 && l.access[len(l.access)-1] == token && l.resource == resource &&
			time.Now().Before(l.expiry) {
			return strings.Fields(l.scope), l.expiry, true
		}
	}
	return nil, time.Time{}, false
}

// Expire ends all access tokens. Their refresh tokens stay valid.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logins {
		l.expiry = time.Time{}
	}
}

// End ends all logins, as an administrator does.
func (s *Server) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logins {
		l.dead = true
	}
}

// Alive returns the number of logins that still have valid tokens.
func (s *Server) Alive() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.logins {
		if l.used && !l.dead {
			n++
		}
	}
	return n
}
