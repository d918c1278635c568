package attractor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/permit"
)

// modeNote is the kind of the note that holds the mode, so that a session that was planning resumes
// in plan mode.
const modeNote = "attractor.mode"

// notedMode returns the mode in the note of a session that is resumed, or "". lost reports whether
// a compaction has replaced what the model was told.
func notedMode(was *agent.State) (m permit.Mode, lost bool) {
	if was == nil {
		return "", false
	}
	note, ok := was.Notes[modeNote]
	if !ok || json.Unmarshal(note.Data, &m) != nil {
		return "", false
	}
	return m, note.Replaced
}

// chooseMode completes the mode of the configuration: a session that was planning goes on planning,
// and any other asks. It also decides whether the model has the tool that leaves plan mode; a
// session that had it keeps it, because its requests must not change.
func (s *Setup) chooseMode(c *config, was *agent.State) error {
	told, lost := notedMode(was)
	if c.Mode == "" {
		c.Mode = cmp.Or(c.Defaults.Mode, permit.ModeAsk)
		if told == permit.ModePlan {
			c.Mode = permit.ModePlan
		}
	}
	if err := c.noFull(c.Mode); err != nil {
		return err
	}
	if c.Mode != permit.ModeReadOnly {
		if _, err := permit.ParseMode(string(c.Mode)); err != nil {
			return fail(ErrConfig, "%w", err)
		}
	}
	s.plans = c.Interactive || c.Mode == permit.ModePlan || told != ""
	if s.told = cmp.Or(told, permit.ModeAsk); told == permit.ModePlan && lost {
		s.told = permit.ModeAsk // the model does not know any more
	}
	return nil
}

// Mode returns the mode of the session.
func (s *Setup) Mode() permit.Mode { return s.Gate.Mode() }

// SetMode changes the mode. It can be called while the session runs: the mode counts for the calls
// that are judged from then on, also those of subagents. The model is told before its next answer.
// A read-only session stays read-only.
func (s *Setup) SetMode(ctx context.Context, m permit.Mode) error {
	if _, err := permit.ParseMode(string(m)); err != nil {
		return fail(ErrConfig, "%w", err)
	}
	if s.noFull != nil {
		if err := s.noFull(m); err != nil {
			return err
		}
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	was := s.Gate.Mode()
	if was == permit.ModeReadOnly {
		return fail(ErrConfig, "this session is read-only, and stays so: begin another one to change anything")
	}
	if was != m {
		s.enter(m)
	}
	return s.tellMode(ctx)
}

// enter changes the mode and tells the host.
func (s *Setup) enter(m permit.Mode) {
	s.Gate.SetMode(m)
	if s.OnMode != nil {
		s.OnMode(m)
	}
}

// tellMode notes the mode and tells the model of it, unless the model knows it. A session that has
// not begun is told when it begins.
func (s *Setup) tellMode(ctx context.Context) error {
	m := s.Gate.Mode()
	if s.session == nil || m == s.told || m == permit.ModeReadOnly {
		return nil
	}
	if err := s.session.Note(ctx, modeNote, noteOf(m), s.modeText(m)); err != nil {
		return fmt.Errorf("the mode is %s, but the model cannot be told: %w", m, err)
	}
	s.told = m
	return nil
}

// tellFirst tells the model of a session that begins or is resumed whether it is planning. It is
// not told of other modes.
func (s *Setup) tellFirst(ctx context.Context) error {
	if s.Gate == nil {
		return nil
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	m := s.Gate.Mode()
	if m == permit.ModePlan || s.told == permit.ModePlan {
		return s.tellMode(ctx)
	}
	if s.told = m; !s.plans || m == permit.ModeReadOnly {
		return nil
	}
	return s.session.Note(ctx, modeNote, noteOf(m), "")
}

// noteOf returns the mode as JSON.
func noteOf(m permit.Mode) json.RawMessage { return json.RawMessage(`"` + string(m) + `"`) }

// modeText returns what the model is told when the mode changes.
func (s *Setup) modeText(m permit.Mode) string {
	switch m {
	case permit.ModePlan:
		return "The session is in plan mode. " + s.Gate.PlanText()
	case permit.ModeAcceptEdits:
		return "The user changed the permission mode: file tools may change files in the session's directories " +
			"without a question. The user is still asked about other calls that change or run something." + s.planOver()
	case permit.ModeFull:
		return "The user changed the permission mode: calls run without a question, unless a rule or a hook " +
			"denies them." + s.planOver()
	}
	return "The user changed the permission mode: the user is asked about calls that change or run something." +
		s.planOver()
}

// planOver returns the end of the text for a model that was planning.
func (s *Setup) planOver() string {
	if s.told != permit.ModePlan {
		return ""
	}
	return " Plan mode is over."
}

// listenForCompactions tells the model again that it is planning when a compaction may have
// replaced the text that said so.
func (s *Setup) listenForCompactions() {
	if s.Gate == nil {
		return
	}
	s.onEvent(func(ev agent.Event) {
		if _, is := ev.(*agent.Compaction); is && s.Gate.Mode() == permit.ModePlan {
			s.tellAgain()
		}
	})
}

// tellAgain repeats that the session is in plan mode.
func (s *Setup) tellAgain() {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.Gate.Mode() != permit.ModePlan || s.told != permit.ModePlan {
		return
	}
	s.told = permit.ModeAsk
	if err := s.tellMode(context.Background()); err != nil && !errors.Is(err, agent.ErrClosed) {
		s.warnings.add("mode", err.Error())
	}
}
