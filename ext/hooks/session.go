package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/tool"
)

// maxContext limits, in characters, what the hooks of one event say to the model together.
const maxContext = 15_000

// together returns texts as one.
func together(texts []string) string {
	text, _ := tool.Limit{Chars: maxContext}.Apply(strings.Join(texts, "\n\n"), tool.Gap{}, "")
	return text
}

// BeforeInput asks the hooks for UserPromptSubmit. It fits agent.Hooks.
func (h *Hooks) BeforeInput(ctx context.Context, m agent.Message) (agent.Message, error) {
	if !h.Has(UserPromptSubmit) {
		return m, nil
	}
	a, err := h.ask(ctx, occasion{event: UserPromptSubmit, session: m.Session,
		payload: map[string]any{"prompt": m.Text}})
	switch {
	case err != nil:
		return m, err
	case a.stance == Denies:
		return m, errors.New(a.reason)
	case len(a.context) > 0:
		m.Context = strings.TrimSpace(m.Context + "\n\n" + together(a.context))
	}
	return m, nil
}

// BeforeStop asks the hooks for Stop, or SubagentStop. It fits agent.Hooks.
func (h *Hooks) BeforeStop(ctx context.Context, stop agent.Stop) (prompt string, err error) {
	o := occasion{event: Stop, session: stop.Session, agent: h.agentOf(ctx, stop.Agent),
		payload: map[string]any{"stop_hook_active": stop.Confirms > 0, "last_assistant_message": stop.Text}}
	if stop.Agent != "" {
		o.event, o.names = SubagentStop, []string{o.agent.kind}
		if h.o.Transcript != nil {
			o.payload["agent_transcript_path"] = h.o.Transcript(stop.Session)
		}
	}
	if !h.Has(o.event) {
		return "", nil
	}
	a, err := h.ask(ctx, o)
	if err != nil || a.stop || a.stance != Denies {
		return "", err
	}
	return cmp.Or(a.reason, "A hook says that the work is not done yet."), nil
}

// BeforeCompact asks the hooks for PreCompact. It fits agent.Hooks.
func (h *Hooks) BeforeCompact(ctx context.Context, about agent.Compacting) (keep string, err error) {
	if !h.Has(PreCompact) {
		return "", nil
	}
	trigger := "auto"
	if about.Requested {
		trigger = "manual"
	}
	a, err := h.ask(ctx, occasion{event: PreCompact, names: []string{trigger}, session: about.Session,
		agent:   h.agentOf(ctx, about.Agent),
		payload: map[string]any{"trigger": trigger, "custom_instructions": ""}})
	switch {
	case err != nil:
		return "", err
	case a.stance == Denies:
		return "", errors.New(a.reason)
	}
	return together(a.context), nil
}

// noteOfStart is the kind of the note with what hooks for SessionStart have said.
const noteOfStart = "hooks:session_start"

// Start tells the hooks for SessionStart that a session begins. Source is startup, resume or
// compact. What they say goes to the model before its next answer.
func (h *Hooks) Start(ctx context.Context, s Session, source, model string) error {
	h.mu.Lock()
	h.session = s
	h.mu.Unlock()
	if !h.Has(SessionStart) {
		return nil
	}
	a, err := h.ask(ctx, occasion{event: SessionStart, names: []string{source}, session: s.ID(),
		payload: map[string]any{"source": source, "model": model}})
	if err != nil || len(a.context) == 0 {
		return err
	}
	data, err := json.Marshal(map[string]string{"source": source})
	if err != nil {
		return err
	}
	return s.Note(ctx, noteOfStart, data, together(a.context))
}

// OnEvent tells hooks of compactions and questions. It does not wait for them.
func (h *Hooks) OnEvent(ev agent.Event) {
	s := h.current()
	switch ev := ev.(type) {
	case *agent.Compaction:
		if s != nil && h.Has(SessionStart) {
			h.Beside(func(ctx context.Context) { _ = h.Start(ctx, s, "compact", "") }) // the session may end first
		}
	case *agent.InputRequested:
		h.Notify(ev.SessionID, "elicitation_dialog", ev.Question)
	}
}

// Notify tells the hooks for Notification that a person is needed. It does not wait for them. The
// kinds are those of Claude Code, such as permission_prompt.
func (h *Hooks) Notify(session, kind, message string) {
	if !h.Has(Notification) {
		return
	}
	h.Beside(func(ctx context.Context) {
		_, _ = h.ask(ctx, occasion{event: Notification, names: []string{kind}, session: session,
			// fails only if the session ends
			payload: map[string]any{"message": message, "title": "attractor", "notification_type": kind}})
	})
}

// endGrace bounds how long what runs beside a session may go on after its end.
const endGrace = 2 * time.Second

// End tells the hooks for SessionEnd, gives what runs beside the session two seconds to end, and
// returns when all hooks have ended.
func (h *Hooks) End(ctx context.Context) {
	h.mu.Lock()
	ended, s := h.closed, h.session
	h.closed = true
	h.mu.Unlock()
	if !ended && s != nil && h.Has(SessionEnd) {
		_, _ = h.ask(ctx, occasion{event: SessionEnd, names: []string{"other"}, session: s.ID(),
			payload: map[string]any{"reason": "other"}}) // fails only if ctx ends
	}
	late := time.AfterFunc(endGrace, func() { h.end(errEnded) })
	defer late.Stop()
	h.beside.Wait()
	h.end(errEnded)
}
