package server

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/permit"
)

// serveList answers with the sessions of a token.
func (s *Server) serveList(c *call) error {
	return c.reply(http.StatusOK, Sessions{s.visible(c.account)})
}

// serveGet answers with a session.
func (x *session) serveGet(c *call) error {
	return c.reply(http.StatusOK, x.summary())
}

// serveCreate creates a session.
func (s *Server) serveCreate(c *call) error {
	var wanted Create
	if err := c.decode(&wanted); err != nil {
		return err
	}
	of, err := c.forked(&wanted)
	if err != nil {
		return err
	}
	k, err := s.permitted(wanted)
	if err != nil {
		return err
	}
	k.Fork, k.Turn, k.SameDir = wanted.Fork, wanted.Turn, k.Dir == of.Dir
	k.ID, k.Token, k.Created = uuid.NewString(), c.account.Name, time.Now().UTC()
	if key := c.r.Header.Get("Idempotency-Key"); key != "" { // the same one, also after a restart
		k.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte("attractor-server\x00"+k.Token+"\x00"+key)).String()
		k.Request = fmt.Sprintf("%x", c.sum())
	}
	x, isNew, err := s.add(k)
	if err != nil {
		return err
	}
	if x.kept.Request != k.Request { // which never changes
		return errKeyReused()
	}
	ctx, cancel := c.work(openTime)
	defer cancel()
	begun := false
	if !isNew { // the server may have ended before the session had a journal
		if begun, err = x.begun(ctx); err != nil {
			return x.masked(err)
		}
	}
	if !begun {
		if _, err := x.use(ctx); err != nil {
			return errors.Join(err, s.forget(x))
		}
	}
	if err := s.save(); err != nil {
		return err
	}
	c.w.Header().Set("Location", "/v1/sessions/"+x.id)
	return c.reply(http.StatusCreated, x.summary())
}

// forked fills in what a request for a fork leaves empty from the session that is forked, which it
// returns.
func (c *call) forked(w *Create) (of kept, err error) {
	if w.Turn < 0 || w.Turn > 0 && w.Fork == "" {
		return of, invalid("turn says behind which turn a fork begins, so it is not below 0 and needs fork")
	}
	if w.Fork == "" {
		return of, nil
	}
	x, err := c.sessionOf(w.Fork)
	if err != nil {
		return of, err
	}
	of, _ = x.now()
	of = c.server.options.capped(of)
	w.Dir, w.Mode, w.Sandbox = cmp.Or(w.Dir, of.Dir), cmp.Or(w.Mode, of.Mode), cmp.Or(w.Sandbox, of.Sandbox)
	w.BudgetUSD, w.BudgetTokens = cmp.Or(w.BudgetUSD, of.BudgetUSD), cmp.Or(w.BudgetTokens, of.BudgetTokens)
	return of, nil
}

// permitted returns the kept of a new session, or an error if the server does not allow it.
func (s *Server) permitted(w Create) (kept, error) {
	o := s.options
	k := kept{Model: w.Model, Effort: w.Effort, Mode: cmp.Or(w.Mode, o.Config.Mode),
		Sandbox: cmp.Or(w.Sandbox, o.Sandbox), BudgetUSD: w.BudgetUSD, BudgetTokens: w.BudgetTokens}
	if _, err := permit.ParseFirstMode(string(k.Mode)); err != nil {
		return k, invalid("%v", err)
	}
	if err := s.allowsMode(k.Mode); err != nil {
		return k, err
	}
	if _, err := sandbox.ParseLevel(string(k.Sandbox)); err != nil {
		return k, invalid("%v", err)
	}
	if lessConfined(k.Sandbox, o.Sandbox) {
		return k, forbidden("this server confines commands to the level %s or more", o.Sandbox)
	}
	if k.BudgetUSD < 0 || k.BudgetTokens < 0 || math.IsNaN(k.BudgetUSD) || math.IsInf(k.BudgetUSD, 0) {
		return k, invalid("a budget cannot be below 0")
	}
	if err := s.allowsBudget(&k.BudgetUSD, &k.BudgetTokens); err != nil {
		return k, err
	}
	k = o.capped(k)
	var err error
	k.Dir, err = s.allowedDir(w.Dir)
	return k, err
}

// allowsMode returns an error for a mode that no session of this server may have.
func (s *Server) allowsMode(m permit.Mode) error {
	if beyondMode(m, s.options.MaxMode) {
		return forbidden("this server allows no mode beyond %s", s.options.MaxMode)
	}
	return nil
}

// allowsBudget returns an error for budgets above those of the server. Nil and 0 are none.
func (s *Server) allowsBudget(usd *float64, tokens *int) error {
	most := s.options.Config.Budget
	if usd != nil && most.USD > 0 && *usd > most.USD {
		return forbidden("a session of this server spends at most %g dollars", most.USD)
	}
	if tokens != nil && most.Tokens > 0 && *tokens > most.Tokens {
		return forbidden("a session of this server uses at most %d tokens", most.Tokens)
	}
	return nil
}

// allowedDir returns a directory without links, if it is in one of the roots.
func (s *Server) allowedDir(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.options.Roots[0], dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	for _, root := range s.options.Roots {
		rel, outside := filepath.Rel(root, real)
		if err != nil || outside != nil || !filepath.IsLocal(rel) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil || !info.IsDir() {
			break
		}
		return real, nil
	}
	// The error does not tell whether a directory elsewhere exists.
	return "", forbidden("%.200q is no directory within the roots of this server", dir)
}

// serveDelete ends a session and removes it.
func (x *session) serveDelete(c *call) error {
	ctx, cancel := c.work(lineTime)
	defer cancel()
	if err := x.remove(ctx); err != nil {
		return err
	}
	c.status = http.StatusNoContent
	return nil
}
