package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/protocol"
	"github.com/attractor-go/attractor/permit"
)

// serveLine carries out a line.
func (x *session) serveLine(c *call) error {
	line, err := protocol.Parse(c.body)
	if err != nil {
		return invalid("%v", err)
	}
	if err := x.server.allows(c.account, line); err != nil {
		return err
	}
	takesKey := slices.Contains(protocol.Members(line.Type), "key")
	if x.isHeld() && takesKey {
		return conflict("the server has died twice over the last input, so it does not go on by itself: send " +
			"continue or interrupt first")
	}
	if key := c.r.Header.Get("Idempotency-Key"); key != "" && line.Key == "" && takesKey { // also for after a restart
		line.Key = c.journalKey(key)
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
	x.lines.RLock()
	defer x.lines.RUnlock()
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
		if noted = x.feed.hasAsk(line.Ask); noted { // otherwise the reply says that the answer comes too late
			if err := l.record(ctx, a.Name, line, ""); err != nil {
				return nil, err
			}
		}
	}
	if line.Type == protocol.TypeUndo || line.Type == protocol.TypeRedo {
		x.server.makeRoom(ctx, a, x)
	}
	reply := l.conversation.Do(ctx, body)
	if reply.OK {
		x.feed.ends(line.Ask)
		return reply, x.carriedOut(ctx, l, line)
	}
	why := refusal{http.StatusConflict, CodeConflict, reply.Error, 0}
	if cause := refusalOf(reply.Cause); cause.code == CodeStorage || cause.code == CodeInvalid {
		why.status, why.code = cause.status, cause.code
	}
	if noted {
		return nil, errors.Join(&why, l.record(ctx, a.Name, line, reply.Error))
	}
	return nil, &why
}

// journalKey returns the key of a message in the journal. It has the hashes of the token with its
// key, and of the request.
func (c *call) journalKey(key string) string {
	return fmt.Sprintf("%s%x/%x", requestKeys, sha256.Sum256([]byte(c.account.Name+"\x00"+key)), c.sum())
}

// requestKeys is the prefix of what journalKey returns.
const requestKeys = "request/"

// usedOtherwise reports whether the key of a request is in had with another request.
func usedOtherwise(key string, had []string) bool {
	whose := strings.LastIndexByte(key, '/') + 1
	return strings.HasPrefix(key, requestKeys) && !slices.Contains(had, key) &&
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
		return forbidden("rules for later sessions are those of the server's user: only the owner's token can have " +
			"them kept")
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
			return forbidden("this server confines commands to the level %s or more: only the owner's token can let "+
				"one run outside the sandbox", x.server.options.Sandbox)
		case q.Plan != "": // the mode that follows is this one at least
			return x.server.allowsMode(permit.ModeAsk)
		}
	}
	return nil
}

// carriedOut records what a line has changed, and waits for the end of a session that it has
// closed.
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
		if line.Type == protocol.TypeInterrupt { // the input has to go on to be ended
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

// replyOf converts a reply for the API.
func replyOf(line protocol.Line, r *protocol.Reply) Reply {
	reply := Reply{Type: line.Type, ID: line.ID, Queued: r.Queued, Text: r.Text, Plan: r.Plan}
	if st := r.Status; st != nil {
		reply.Status = &Status{State: st.State, Mode: st.Mode, Provider: st.Provider, Model: st.Model,
			Effort: st.Effort, Usage: st.Usage, Asks: []Event{}}
		for _, ask := range st.Asks {
			if data, err := json.Marshal(ask); err == nil { // events can always be encoded
				reply.Status.Asks = append(reply.Status.Asks, data)
			}
		}
	}
	return reply
}
