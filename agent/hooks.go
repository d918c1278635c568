package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Hooks hold decisions of the host that are code. All may be nil, and may take their time until
// their context ends. With subagents, several goroutines call them at once.
type Hooks struct {
	// Authorize decides about each call when its turn to run has come, about one at a time. Nil is
	// [tool.AllowUnguarded], which allows everything but changes of guarded files, such as
	// read-only ones.
	Authorize tool.Authorize
	// Approve decides where Authorize says [tool.Ask], also about one call at a time. It may wait
	// for a person; calls that need no approval run meanwhile.
	Approve tool.Authorize
	// Middleware is put around every call that was permitted, also of subagents; the first is
	// outermost. If one leaves its call open, by [tool.ErrNotBegun], the session is given away as
	// by [Session.Release]: calls that run come to their results, all others stay open, and Submit
	// returns an error that is an [ErrReleased] and wraps the middleware's.
	Middleware []tool.Middleware

	// BeforeInput is asked about what people tell the agent by Submit, Begin, FollowUp, Steer and
	// Answer, before any of it is recorded. It returns the message to record, perhaps with another
	// text or with Context. An error refuses the message: the method returns it, and the session
	// stays as it was. The journal has only what was returned, and a resumed session does not ask
	// again. BeforeInput is not asked about what agents tell their subagents, nor about answers of
	// Questions.Answer, which come from the host.
	BeforeInput func(ctx context.Context, m Message) (Message, error)
	// BeforeStop is asked before an input ends because the task is done. A prompt sends the agent
	// back to work, at most Policy.MaxConfirms times an input; then the input ends, and its Result
	// is Unconfirmed. An error is a WARNING and lets the input end. BeforeStop is asked about
	// subagents too, each with a count of its own.
	BeforeStop func(ctx context.Context, stop Stop) (prompt string, err error)
	// BeforeCompact is asked before a summary replaces the beginning of the history. What it
	// returns is added to the instructions of the model that writes the summary. An error prevents
	// the compaction with the WARNING compaction_failed; it is tried again when the history has
	// grown. BeforeCompact is asked about subagents too.
	BeforeCompact func(ctx context.Context, about Compacting) (keep string, err error)
}

// Stop describes the end about which [Hooks].BeforeStop is asked.
type Stop struct {
	Session    string // the session's id
	Agent      string // a subagent's id, as the session that started it knows it; empty for the host's own session
	Text       string // the answer, or the final text of a tool
	Reason     Reason // completed or done
	Turns      int    // of the input
	ToolRounds int
	Confirms   int // how often BeforeStop has sent the agent back in this input, in earlier processes too
}

// Compacting describes the compaction about which [Hooks].BeforeCompact is asked.
type Compacting struct {
	Session string // the session's id
	Agent   string // a subagent's id, as the session that started it knows it; empty for the host's own session
	// Turns are those that the summary is to replace. Read them only.
	Turns  []Turn
	Tokens int // of the whole history, an estimate
	// Requested says that [Session.Compact] asked for it, not the policy.
	Requested bool
}

// askToCompact calls BeforeCompact and returns what the summary has to keep. An error fails the
// compaction.
func (s *Session) askToCompact(ctx context.Context, job *summaryJob) (keep string, err error) {
	if s.hooks.BeforeCompact == nil {
		return "", nil
	}
	about := Compacting{Session: s.ID(), Agent: s.agentID, Turns: job.replaced, Tokens: job.record.Before,
		Requested: job.record.Queued != 0}
	keep, err = host(ctx, s, "BeforeCompact", s.limits.Grace,
		func() (string, error) { return s.hooks.BeforeCompact(ctx, about) })
	s.warnOfStuck(err)
	switch {
	case isHostError(err):
		s.breakDown(err)
		return "", err
	case err != nil:
		return "", fmt.Errorf("BeforeCompact prevented it: %w", err)
	case len(keep) > maxHookText:
		return "", fmt.Errorf("BeforeCompact returned %d bytes; it can return %d", len(keep), maxHookText)
	}
	return strings.TrimSpace(validText(keep)), nil
}

// Message holds a text for the agent before it is recorded. [Hooks].BeforeInput is asked about it.
type Message struct {
	Session string // the session's id
	Kind    MessageKind
	// Question is set for an answer, with Action and Content as in tool.Answer. Changes of these
	// three have no effect.
	Question string
	Action   tool.Action
	Content  json.RawMessage

	Text  string
	Parts []llm.Part // beside the text
	// Context is for the hook to set. It goes to the model as a turn of its own behind the message,
	// before the next model call.
	Context string
}

// A MessageKind says how a [Message] was sent.
type MessageKind string

// The kinds of message.
const (
	MessageTask     MessageKind = "task" // a task by Submit or Begin
	MessageFollowUp MessageKind = "follow_up"
	MessageSteering MessageKind = "steering"
	MessageAnswer   MessageKind = "answer" // by Answer, or by Submit or Begin where a question waits
)

// admit calls BeforeInput with a message before it is recorded, and changes m to what the hook
// returns. If the hook refuses the message or fails, admit returns an error. It does not ask again
// about a message whose key the session has had.
func (s *Session) admit(ctx context.Context, m *sending, about Message) error {
	if s.hooks.BeforeInput == nil || m.blank() && about.Content == nil || s.hadKey(m.key) {
		return nil
	}
	if err := s.open(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	about.Session, about.Text, about.Parts = s.ID(), m.text, slices.Clone(m.parts)
	told, err := host(ctx, s, "BeforeInput", s.limits.Grace,
		func() (Message, error) { return s.hooks.BeforeInput(ctx, about) })
	switch {
	case isHostError(err):
		s.breakDown(err)
		return err
	case errors.Is(err, ErrStuck):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("agent: the message was refused: %w", err)
	case len(told.Context) > maxHookText:
		return fmt.Errorf("agent: the context that BeforeInput returned has %d bytes; it can have %d: put the rest "+
			"into a file and name that", len(told.Context), maxHookText)
	}
	was := m.blank()
	m.text, m.parts, m.context = told.Text, told.Parts, validText(told.Context)
	if m.blank() && !was {
		return errors.New("agent: BeforeInput left nothing of the message; to refuse it, it returns an error")
	}
	return m.check()
}

// admitInput is admit for the next input, which is a task or the answer to the waiting question.
func (s *Session) admitInput(ctx context.Context, m *sending) error {
	if s.working.Load() != nil && !s.hadKey(m.key) {
		return ErrBusy
	}
	about := Message{Kind: MessageTask}
	if asked := s.waitingQuestion(); asked != nil {
		about.Kind, about.Question = MessageAnswer, asked.awaits.Question
	}
	return s.admit(ctx, m, about)
}

// hadKey reports whether the session has had a message with this key.
func (s *Session) hadKey(key string) bool {
	return look(s, func(st *State) bool { return st.hadKey(key) })
}

// askToStop calls BeforeStop. Its prompt becomes a turn; without one the input ends, unless
// steering has come meanwhile.
func (s *Session) askToStop(ctx context.Context, step Step) error {
	s.mu.Lock()
	in := s.state.Input
	stop := Stop{Session: s.ID(), Agent: s.agentID, Text: in.Final, Reason: step.Reason, Turns: in.Turns,
		ToolRounds: in.Rounds, Confirms: in.Confirms}
	s.mu.Unlock()
	prompt, err := host(ctx, s, "BeforeStop", s.limits.Grace,
		func() (string, error) { return s.hooks.BeforeStop(ctx, stop) })
	switch {
	case isHostError(err):
		return err
	case errors.Is(err, ErrStuck):
		s.warnOfStuck(err)
	case err != nil:
		s.events.emit(&Warning{Code: "before_stop_failed", Text: err.Error()})
	}
	if ctx.Err() != nil {
		return nil // the next step ends the input
	}
	defer s.events.flush()
	return s.update(context.Background(), func() ([]record, error) {
		switch {
		case err == nil && strings.TrimSpace(prompt) != "":
			return []record{turnRecord{Origin: OriginStop, Text: validText(prompt), Source: sourceHook}}, nil
		case step.Reason == ReasonCompleted && s.state.Queued(LaneSteering) != nil:
			return nil, nil
		}
		return []record{endRecord{Reason: step.Reason}}, nil
	})
}
