package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/web"
)

// serveList answers with the sessions of a token.
func (s *Server) serveList(c *call) error {
	return c.reply(http.StatusOK, Sessions{s.visible(c.account)})
}

// serveGet answers with a session.
func (s *Server) serveGet(c *call) error {
	x, err := c.session()
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, x.summary())
}

// serveCreate begins a session.
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

// forked completes what is wanted of a fork by what is kept of the session that it is of, which it
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

// permitted returns what is kept of a session that somebody wants, or why there can be none.
func (s *Server) permitted(w Create) (kept, error) {
	o := s.options
	k := kept{Model: w.Model, Effort: w.Effort, Mode: w.Mode, Sandbox: w.Sandbox,
		BudgetUSD: w.BudgetUSD, BudgetTokens: w.BudgetTokens}
	if k.Mode == "" {
		k.Mode = o.Config.Mode
	}
	if _, err := permit.ParseMode(string(k.Mode)); err != nil && k.Mode != permit.ModeReadOnly {
		return k, invalid("%v", err)
	}
	if err := s.allowsMode(k.Mode); err != nil {
		return k, err
	}
	if k.Sandbox == "" {
		k.Sandbox = o.Sandbox
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

// allowsBudget returns an error for budgets above those of the server. Nil changes nothing, and 0
// is none.
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
	return "", forbidden("%.200q is no directory within the roots of this server", dir) // not which, of those elsewhere
}

// serveDelete ends a session and removes it.
func (s *Server) serveDelete(c *call) error {
	x, err := c.session()
	if err != nil {
		return err
	}
	ctx, cancel := c.work(lineTime)
	defer cancel()
	if err := x.remove(ctx); err != nil {
		return err
	}
	c.status = http.StatusNoContent
	return nil
}

// serveLine carries out a line.
func (s *Server) serveLine(c *call) error {
	x, err := c.session()
	if err != nil {
		return err
	}
	line, err := protocol.Parse(c.body)
	if err != nil {
		return invalid("%v", err)
	}
	if err := s.allows(c.account, line); err != nil {
		return err
	}
	takesKey := slices.Contains(protocol.Members(line.Type), "key")
	if x.isHeld() && takesKey {
		return conflict("the server has died twice over the last input, so it does not go on by itself: send continue or interrupt first")
	}
	if key := c.r.Header.Get("Idempotency-Key"); key != "" && line.Key == "" && takesKey { // it also holds after a restart
		line.Key = c.lasting(key)
		if c.body, err = withKey(c.body, line.Key); err != nil {
			return err
		}
	}
	ctx, cancel := c.work(openTime + lineTime)
	defer cancel()
	reply, err := x.do(ctx, c.account, line, c.body)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, replyOf(line, reply))
}

// do carries out a line of a token.
func (x *session) do(ctx context.Context, a *account, line protocol.Line, body []byte) (*protocol.Reply, error) {
	l, err := x.use(ctx)
	if err != nil {
		return nil, err
	}
	if usedOtherwise(line.Key, l.session.Keys()) {
		return nil, errKeyReused()
	}
	noted := false
	if slices.Contains(protocol.Members(line.Type), "ask") {
		x.answering.Lock()
		defer x.answering.Unlock()
		if err := x.allowsAnswer(a, l, line); err != nil {
			return nil, err
		}
		if noted = x.feed.hasAsk(line.Ask); noted { // else the answer comes too late, as the reply says
			if err := l.record(ctx, a.Name, line, ""); err != nil {
				return nil, err
			}
		}
	}
	reply := l.conversation.Do(ctx, body)
	if reply.OK {
		x.feed.ends(line.Ask)
		return reply, x.carriedOut(ctx, l, line)
	}
	why := refusal{http.StatusConflict, CodeConflict, reply.Error, 0}
	if cause := refusalOf(reply.Cause); cause.code == CodeStorage {
		why.status, why.code = cause.status, cause.code
	}
	if noted {
		return nil, errors.Join(&why, l.record(ctx, a.Name, line, reply.Error))
	}
	return nil, &why
}

// lasting returns the key of a message in the journal: which token's key it is, and of what request.
func (c *call) lasting(key string) string {
	return fmt.Sprintf("%s%x/%x", lastingKeys, sha256.Sum256([]byte(c.account.Name+"\x00"+key)), c.sum())
}

// lastingKeys is how the keys of messages begin that are those of requests.
const lastingKeys = "request/"

// usedOtherwise reports whether a session has had the key of a request with another request.
func usedOtherwise(key string, had []string) bool {
	whose := strings.LastIndexByte(key, '/') + 1
	return strings.HasPrefix(key, lastingKeys) && !slices.Contains(had, key) &&
		slices.ContainsFunc(had, func(one string) bool { return strings.HasPrefix(one, key[:whose]) })
}

// withKey returns a line with a key.
func withKey(line []byte, key string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	text, err := json.Marshal(key)
	if err != nil {
		return nil, err
	}
	members["key"] = text
	return json.Marshal(members)
}

// allows returns an error for a line that the server or the token does not allow.
func (s *Server) allows(a *account, line protocol.Line) error {
	if line.Files {
		return forbidden("the server reads no files for its clients: send images as data")
	}
	if line.Mode != nil {
		if err := s.allowsMode(permit.Mode(*line.Mode)); err != nil {
			return err
		}
	}
	if usd := s.options.Config.Budget.USD; line.BudgetUSD != nil && *line.BudgetUSD == 0 && usd > 0 {
		return forbidden("a session of this server spends at most %g dollars", usd)
	}
	if tokens := s.options.Config.Budget.Tokens; line.BudgetTokens != nil && *line.BudgetTokens == 0 && tokens > 0 {
		return forbidden("a session of this server uses at most %d tokens", tokens)
	}
	for key, wanted := range map[string]*int{"max_rounds": line.MaxRounds, "max_turns": line.MaxTurns} {
		if most := s.options.chosen(key); wanted != nil && most > 0 && (*wanted == 0 || *wanted > most) {
			return forbidden("the %s of a session of this server is %d at most", key, most)
		}
	}
	if line.Remember != "" && line.Remember != "session" && !a.Owner {
		return forbidden("rules for later sessions are those of the server's user: only the owner's token can have them kept")
	}
	return s.allowsBudget(line.BudgetUSD, line.BudgetTokens)
}

// allowsAnswer returns an error for the approval of an ask that the server or the token does not
// allow. x.answering is held.
func (x *session) allowsAnswer(a *account, l *live, line protocol.Line) error {
	if line.Type != protocol.TypeApprove || line.Decision != "allow" {
		return nil
	}
	for _, ask := range l.asks.Open() {
		q := ask.Approval
		switch {
		case ask.ID != line.Ask || q == nil:
		case len(q.Refused) > 0 && x.server.options.Sandbox != sandbox.Off && !a.Owner:
			return forbidden("this server confines commands to the level %s or more: only the owner's token can let one run outside the sandbox",
				x.server.options.Sandbox)
		case q.Plan != "": // the mode that follows is this one at least
			return x.server.allowsMode(permit.ModeAsk)
		}
	}
	return nil
}

// carriedOut notes what a line has changed for later.
func (x *session) carriedOut(ctx context.Context, l *live, line protocol.Line) error {
	switch line.Type {
	case protocol.TypeSet:
		provider, model, effort := l.setup.Model()
		x.change(func(k *kept) {
			k.Model, k.Effort = provider+"/"+model, effort
			if line.BudgetUSD != nil {
				k.BudgetUSD = *line.BudgetUSD
			}
			if line.BudgetTokens != nil {
				k.BudgetTokens = *line.BudgetTokens
			}
		})
		return x.server.save()
	case protocol.TypeContinue, protocol.TypeInterrupt:
		if !x.isHeld() {
			break
		}
		x.change(func(k *kept) { k.Deaths = min(k.Deaths, maxDeaths-1) }) // the next death holds it again
		l.page.Hold(false)
		x.server.saveSoon()
		if line.Type == protocol.TypeInterrupt { // nobody works on the input, so nobody would end it
			l.conversation.GoOn()
		}
	case protocol.TypeClose:
		select {
		case <-l.done:
		case <-ctx.Done():
		}
	}
	return nil
}

// replyOf returns a reply as the API has it.
func replyOf(line protocol.Line, r *protocol.Reply) Reply {
	reply := Reply{Type: line.Type, ID: line.ID, Queued: r.Queued, Text: r.Text, Plan: r.Plan}
	if st := r.Status; st != nil {
		reply.Status = &Status{State: st.State, Mode: st.Mode, Provider: st.Provider, Model: st.Model, Effort: st.Effort,
			Usage: st.Usage, Asks: []Event{}}
		for _, ask := range st.Asks {
			if data, err := json.Marshal(ask); err == nil { // events can always be encoded
				reply.Status.Asks = append(reply.Status.Asks, data)
			}
		}
	}
	return reply
}

// serveDiff answers with what a session has changed.
func (s *Server) serveDiff(c *call) error {
	x, err := c.session()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.r.Context(), lineTime)
	defer cancel()
	reply, err := x.do(ctx, c.account, protocol.Line{Type: protocol.TypeDiff}, []byte(`{"type":"diff"}`))
	if err != nil {
		return err
	}
	return c.text(kindText, []byte(reply.Text))
}

// text sets the answer to a text.
func (c *call) text(kind string, text []byte) error {
	c.w.Header().Set("Content-Type", kind)
	c.status, c.answer = http.StatusOK, text
	return nil
}

// number returns a parameter of the query, or what stands for none.
func (c *call) number(name string, missing, most int64) (int64, error) {
	given := c.r.URL.Query().Get(name)
	if given == "" {
		return missing, nil
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 0 || n > most {
		return 0, invalid("%s must be a whole number from 0 to %d", name, most)
	}
	return n, nil
}

// serveOutput answers with a part of a whole output.
func (s *Server) serveOutput(c *call) error {
	x, err := c.session()
	if err != nil {
		return err
	}
	offset, err := c.number("offset", 0, 1<<50)
	if err != nil {
		return err
	}
	limit, err := c.number("limit", 64<<10, 1<<20)
	if err != nil {
		return err
	}
	hash := c.r.PathValue("hash")
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(hash) {
		return invalid("an output is named by the 64 hexadecimal digits of its output_blob")
	}
	m, err := x.masker()
	if err != nil {
		return x.masked(err)
	}
	text, more, err := web.Output(c.r.Context(), s.options.Config.Store, m, x.id, hash, offset, int(max(limit, 4)))
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(http.StatusNotFound, CodeNotFound, "this output is not kept whole")
	}
	if err != nil {
		return err
	}
	if more {
		c.w.Header().Set("Attractor-Next", strconv.FormatInt(offset+int64(len(text)), 10))
	}
	return c.text(kindText, text)
}

// maxFile limits the bytes of a file that a client gets.
const maxFile = 16 << 20

// serveFile answers with a file that the session has changed.
func (s *Server) serveFile(c *call) error {
	x, err := c.session()
	if err != nil {
		return err
	}
	path := c.r.URL.Query().Get("path")
	k, _ := x.now()
	rel := k.below(path)
	changed, err := x.hasChanged(c.r.Context(), k, rel)
	if err != nil {
		return err
	}
	missing := refuse(http.StatusNotFound, CodeNotFound, "the session has changed no file %.200q that is there now", path)
	if !changed {
		return missing
	}
	root, err := os.OpenRoot(k.Dir) // no link leads out of it
	if err != nil {
		return missing
	}
	defer root.Close()
	f, err := root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe by now
	if err != nil {
		return missing
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return missing
	}
	if err := c.hold(3 * min(info.Size(), maxFile)); err != nil { // it is copied to be masked
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return err
	}
	if len(data) > maxFile {
		return refuse(http.StatusRequestEntityTooLarge, CodeTooLarge, "the file has more than %d bytes", maxFile)
	}
	m, err := x.masker()
	if err != nil {
		return x.masked(err)
	}
	return c.text("application/octet-stream", []byte(m.String(string(data))))
}

// below returns a path in the directory of the session without that, or "" if it is elsewhere.
func (k *kept) below(path string) string {
	if filepath.IsAbs(path) {
		rel, err := filepath.Rel(k.Dir, path)
		if err != nil {
			return ""
		}
		path = rel
	}
	if path = filepath.Clean(path); path == "." || !filepath.IsLocal(path) {
		return ""
	}
	return path
}

// hasChanged reports whether a result in the journal of the session names a file as changed.
func (x *session) hasChanged(ctx context.Context, k kept, rel string) (is bool, err error) {
	if rel == "" {
		return false, nil
	}
	log, err := x.server.options.Config.Store.Read(ctx, x.id)
	if err != nil {
		return false, err
	}
	err = agent.Project(ctx, log, func(ev agent.Event) {
		if end, ok := ev.(*agent.ToolCallEnd); ok && !is {
			for _, change := range end.Changes {
				is = is || k.below(change.Path) == rel
			}
		}
	})
	return is, errors.Join(err, log.Close())
}

// serveHealth says whether the server takes requests.
func (s *Server) serveHealth(c *call) error {
	if s.isDraining() {
		return c.reply(http.StatusServiceUnavailable, Health{"draining", s.options.Version})
	}
	return c.reply(http.StatusOK, Health{"ok", s.options.Version})
}

// serveDocument answers with the API.
func (s *Server) serveDocument(c *call) error {
	document, err := s.document()
	if err != nil {
		return err
	}
	return c.text(kindJSON, document)
}

// serveMetrics answers with counts.
func (s *Server) serveMetrics(c *call) error {
	var b strings.Builder
	s.metrics.write(&b, s.all())
	return c.text(kindText, []byte(b.String()))
}
