package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/sessions"
)

// session is a session of the server, whether it is open or not. It is safe for concurrent use.
type session struct {
	server  *Server
	id      string
	feed    *feed
	removed chan struct{} // closed when the session is gone

	lines     sync.RWMutex // held for reading while a line is carried out, and to put the session away
	opening   sync.Mutex   // held while the session is opened or removed
	answering sync.Mutex   // held while an ask is answered

	mu      sync.Mutex
	kept    kept
	live    *live // nil while it is not open
	problem string
	secrets *secret.Masker // of the session when it was last open, or of its configuration; nil if nobody has asked
	turned  chan struct{}  // closed and replaced when live or kept changes
}

// live is a session that is open in this process.
type live struct {
	setup        *attractor.Setup
	session      *agent.Session
	conversation *protocol.Conversation
	page         *protocol.Page
	asks         *protocol.Asks
	end          context.CancelFunc
	done         chan struct{} // closed when all of it is closed
	used         time.Time     // last
}

func (s *Server) newSession(k kept) *session {
	x := &session{server: s, id: k.ID, kept: k, removed: make(chan struct{}), turned: make(chan struct{})}
	x.feed = newFeed(func() { s.changed(k.ID, k.Token) })
	return x
}

// now returns the current values of kept and live.
func (x *session) now() (kept, *live) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.kept, x.live
}

// change changes kept, and tells watchers.
func (x *session) change(with func(*kept)) {
	x.mu.Lock()
	with(&x.kept)
	x.turn()
	x.mu.Unlock()
	x.server.changed(x.id, x.kept.Token)
}

// isHeld reports whether the session has an input that does not go on by itself.
func (x *session) isHeld() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.kept.held()
}

// soon is the time after which watchers get the state of a session again if its events lag behind.
const soon = 50 * time.Millisecond

// summary describes the session.
func (x *session) summary() Session {
	x.mu.Lock()
	k, l, problem := x.server.options.capped(x.kept), x.live, x.problem
	x.mu.Unlock()
	s := Session{ID: k.ID, Token: k.Token, Dir: k.Dir, Model: k.Model, Mode: k.Mode, Sandbox: k.Sandbox,
		BudgetUSD: k.BudgetUSD, BudgetTokens: k.BudgetTokens, Created: k.Created, Fork: k.Fork, Problem: problem}
	s.State, s.Asks, s.LastEvent = x.feed.summary()
	if k.held() && s.State == StateIdle {
		s.State = StateHeld
	}
	if l != nil {
		usage := l.session.Usage()
		s.Usage = &usage
		if s.State == StateIdle && l.session.Status() == agent.StatusProcessing { // it begins, or is about to end
			s.State = StateRunning
			time.AfterFunc(soon, func() { x.server.changed(k.ID, k.Token) })
		}
	}
	return s
}

// config returns the configuration of the session. Begun says whether it has begun already.
func (x *session) config(k kept, begun bool) attractor.Config {
	k = x.server.options.capped(k)
	c := x.server.options.Config
	c.ID, c.Dir, c.Mode, c.Interactive = k.ID, k.Dir, k.Mode, true
	const from = "the request"
	c.Set("sandbox", from, string(k.Sandbox))
	if k.BudgetUSD > 0 {
		c.Set("budget_usd", from, strconv.FormatFloat(k.BudgetUSD, 'f', -1, 64))
	}
	if k.BudgetTokens > 0 {
		c.Set("budget_tokens", from, strconv.Itoa(k.BudgetTokens))
	}
	c.Budget = agent.Budget{}
	if begun || k.Fork != "" { // it goes on with its own model
		c.Model, c.Effort = "", ""
		c.Unset("model", "provider", "effort")
	}
	if begun {
		return c
	}
	if c.Fork, c.Turn = k.Fork, k.Turn; k.SameDir {
		c.Dir = "" // so that the fork gets no files of its own
	}
	if k.Model != "" {
		c.Model = k.Model
		c.Unset("model", "provider")
	}
	if k.Effort != "" {
		c.Effort = k.Effort
	}
	return c
}

// least returns the lower of two limits; 0 is no limit.
func least[N int | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// openTime bounds how long a session takes to open, and lineTime how long a line takes.
const openTime, lineTime = 2 * time.Minute, 2 * time.Minute

// use returns the open session. It opens the session if necessary.
func (x *session) use(ctx context.Context) (*live, error) {
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.isRemoved() {
		return nil, refuse(http.StatusNotFound, CodeNotFound, "the session %s was removed", x.id)
	}
	if _, l := x.now(); l != nil {
		if l.session.Status() != agent.StatusClosed {
			x.mu.Lock()
			l.used = time.Now()
			x.mu.Unlock()
			return l, nil
		}
		select { // it is about to be closed
		case <-l.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if x.server.isDraining() { // nothing would release it
		return nil, errDraining()
	}
	if err := x.server.reserve(x); err != nil {
		return nil, err
	}
	if err := x.server.save(); err != nil {
		x.change(func(k *kept) { k.Open = false })
		return nil, err
	}
	l, err := x.open(ctx)
	problem := ""
	if err != nil {
		err = x.masked(err)
		problem = err.Error()
	}
	x.mu.Lock()
	if x.problem = problem; err != nil {
		x.kept.Open = false
	}
	x.mu.Unlock()
	x.server.changed(x.id, x.kept.Token)
	return l, err
}

// masker returns the masker of the session's secrets. Once this process has opened the session, it
// is the session's own, which also knows the secrets that it has got from servers. Until then it is
// made once, of the configuration as it is at the first request.
func (x *session) masker() (*secret.Masker, error) {
	x.mu.Lock()
	k, known := x.kept, x.secrets
	x.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := attractor.SessionSecrets(x.config(k, true))
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.secrets = cmp.Or(x.secrets, made) // it may have been opened meanwhile
	return x.secrets, nil
}

// masked returns the refusal for an error, without the secrets of the session.
func (x *session) masked(err error) error {
	why := *refusalOf(err)
	m, failed := x.masker()
	if failed != nil { // the configuration of the session cannot be read, as err says
		m = x.server.options.Masker
	}
	why.text = m.String(x.server.options.Masker.String(why.text))
	return &why
}

// isRemoved reports whether the session is gone.
func (x *session) isRemoved() bool {
	select {
	case <-x.removed:
		return true
	default:
		return false
	}
}

// open opens the session, and goes on with an input that was left open.
func (x *session) open(ctx context.Context) (*live, error) {
	k, _ := x.now()
	begun, err := x.begun(ctx)
	if err == nil {
		k.Dir, err = x.server.allowedDir(k.Dir) // the roots may be others than when it began
	}
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx)) // servers may still start when the session is open
	late := time.AfterFunc(openTime, end)
	defer late.Stop()
	config := x.config(k, begun)
	l := &live{end: end, done: make(chan struct{}), used: time.Now()}
	asks := protocol.NewAsks(func(ev attractor.Event) { l.setup.Tell(ev) }, render.Question)
	l.asks, config.Ask = asks, asks.Approve
	if l.setup, err = attractor.Prepare(life, config); err != nil {
		end()
		return nil, err
	}
	was := l.setup.Options.State
	left := was != nil && (was.Input != nil || len(was.Queue) > 0)
	// The input is that of the other session, also when the server died before its end was written.
	others := k.Fork != "" && (!begun || left && was.Input != nil && was.Input.Began.Before(k.Created))
	x.join(l, asks)
	if l.session, err = l.setup.Start(life); err != nil {
		err = errors.Join(err, l.setup.Close())
		end()
		return nil, err
	}
	provider, model, _ := l.setup.Model()
	x.mu.Lock()
	x.live, x.secrets, x.kept.Model = l, l.setup.Secrets, provider+"/"+model
	if !left { // another program has gone on with it
		x.kept.Deaths = 0
	}
	held := x.kept.held()
	l.page.Hold(left && held)
	x.turn()
	x.mu.Unlock()
	x.server.running.Go(func() { x.run(life, l) })
	switch {
	case left && others: // nothing goes on twice
		l.conversation.Do(ctx, []byte(`{"type":"interrupt"}`))
		l.conversation.GoOn()
	case left && !held: // before any line, which would find an input that nobody works on
		x.feed.goesOn()
		l.conversation.GoOn()
	}
	return l, nil
}

// begun reports whether the journal of the session has records.
func (x *session) begun(ctx context.Context) (bool, error) {
	log, err := x.server.options.Config.Store.Read(ctx, x.id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return log.Len() > 0, log.Close()
}

// join connects a session that is about to start with its clients: events go to the feed, and
// clients answer its asks.
func (x *session) join(l *live, asks *protocol.Asks) {
	o := &l.setup.Options
	o.Questions, o.OnFailure = &agent.Questions{Answer: asks.Question}, agent.StayOnFailure
	o.OnEvent = func(ev agent.Event) { x.feed.event(ev); x.heard(ev) }
	l.setup.OnOwnEvent = x.feed.event
	l.setup.OnMode = func(m permit.Mode) {
		x.change(func(k *kept) { k.Mode = m })
		x.server.saveSoon()
	}
	l.page = protocol.NewPage(l.setup)
	l.conversation = protocol.New(l.setup, asks, x.server.keepRules)
}

// run works on the lines of clients until the session ends, and closes all of it.
func (x *session) run(life context.Context, l *live) {
	l.conversation.Serve(life, l.session) // the events say how inputs have ended
	err := errors.Join(l.session.Close(), l.setup.Close())
	l.end()
	x.ended(l, err)
}

// heard updates kept after an event. It does not wait.
func (x *session) heard(ev agent.Event) {
	if e, is := ev.(*agent.ProcessingEnd); !is || e.State == agent.StatusProcessing {
		return
	}
	x.mu.Lock()
	died := x.kept.Deaths > 0
	x.kept.Deaths = 0
	x.mu.Unlock()
	if died {
		x.server.saveSoon()
	}
}

// ended notes that the session is not open any more.
func (x *session) ended(l *live, err error) {
	if err != nil {
		x.server.options.Logger.Warn("a session did not end cleanly", "session", x.id, "error",
			l.setup.Secrets.String(err.Error()))
	}
	state, _, _ := x.feed.summary()
	draining := x.server.isDraining()
	x.mu.Lock()
	x.live = nil
	x.turn()
	if !draining {
		x.kept.Open = state != StateIdle // because the session has failed; the next server goes on with it
	}
	x.mu.Unlock()
	x.feed.rests()
	close(l.done)
	if !draining {
		x.server.saveSoon()
	}
}

// release ends the work on the session, so that it can go on later. Calls that run longer than a
// limit are cut off.
func (x *session) release(ctx context.Context, limit time.Duration) error {
	_, l := x.now()
	if l == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := l.session.Release(ctx)
	l.end()
	<-l.done
	return err
}

// close ends the session for good.
func (x *session) close(ctx context.Context) error {
	_, l := x.now()
	if l == nil {
		return nil
	}
	l.conversation.Do(ctx, []byte(`{"type":"close"}`))
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// left reports whether the journal of the session has an open input, or one in the queue.
func (x *session) left(ctx context.Context) (bool, error) {
	log, err := x.server.options.Config.Store.Read(ctx, x.id)
	if err != nil {
		return false, err
	}
	if log.Len() == 0 {
		return false, log.Close()
	}
	state, err := agent.Load(ctx, log)
	if err = errors.Join(err, log.Close()); err != nil {
		return false, err
	}
	return state.Input != nil || len(state.Queue) > 0, nil
}

// answered is the note about who has answered an ask.
type answered struct {
	Ask   string        `json:"ask"`
	Type  protocol.Type `json:"type"`
	By    string        `json:"by"` // the name of the token
	Allow *bool         `json:"allow,omitempty"`
	// Edited says that the answer has other arguments, which are judged anew. Refused says why a
	// noted answer does not count.
	Edited  bool   `json:"edited,omitempty"`
	Refused string `json:"refused,omitempty"`
}

// noteAnswered is the kind of a note about an answer.
const noteAnswered = "answered"

// record notes in the journal who is about to answer an ask or, with the reason, that the answer
// was refused.
func (l *live) record(ctx context.Context, by string, line protocol.Line, refused string) error {
	note := answered{Ask: line.Ask, Type: line.Type, By: by, Edited: line.Edited, Refused: refused}
	if line.Type == protocol.TypeApprove {
		allow := line.Decision == "allow"
		note.Allow = &allow
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return l.session.Note(ctx, noteAnswered, data, "")
}

// remove removes the session with its journal and those of its subagents.
func (x *session) remove(ctx context.Context) error {
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.isRemoved() {
		return nil
	}
	if err := x.close(ctx); err != nil {
		return err
	}
	store := x.server.options.Config.Store
	all, err := sessions.List(ctx, store, 0)
	if err != nil {
		return err
	}
	ids := []string{x.id}
	for found := true; found; { // those of subagents, and of theirs
		found = false
		for _, one := range all {
			if slices.Contains(ids, one.Parent) && !slices.Contains(ids, one.ID) {
				ids, found = append(ids, one.ID), true
			}
		}
	}
	if err := store.Remove(ctx, ids...); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	close(x.removed)
	return x.server.forget(x)
}
