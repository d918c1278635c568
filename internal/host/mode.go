package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
)

// Mode says what becomes of the tool calls that the rules ask about. A rule that denies counts in all modes.
type Mode string

// The modes. Hooks and rules that ask count in all modes but ModeFull.
const (
	ModeAsk Mode = "ask" // a person decides
	// ModeAcceptEdits allows what file tools change in the session's directories, if no rule and no hook asks about it and the file is an
	// ordinary one. A person decides about the rest.
	ModeAcceptEdits Mode = "accept-edits"
	// ModePlan refuses what changes or runs something. Commands that only read run. The model leaves the mode by the tool exit_plan_mode,
	// if a person approves of its plan.
	ModePlan Mode = "plan"
	ModeFull Mode = "full" // they are allowed
	// ModeReadOnly refuses them, and every call that changes or runs something, commands included. A session never leaves this mode.
	ModeReadOnly Mode = "read-only"
)

// Modes returns the modes between which a session can change.
func Modes() []Mode { return []Mode{ModeAsk, ModeAcceptEdits, ModePlan, ModeFull} }

// ModeNames returns the names of Modes.
func ModeNames() (names []string) {
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return names
}

// ParseMode returns the mode with a name.
func ParseMode(name string) (Mode, error) {
	if slices.Contains(Modes(), Mode(name)) {
		return Mode(name), nil
	}
	if here, ok := otherModes()[name]; ok {
		return "", fmt.Errorf("there is no mode %q; here it is %s (docs/coming-from)", name, here)
	}
	return "", fmt.Errorf("there is no mode %q; the modes are %s", name, strings.Join(ModeNames(), ", "))
}

// otherModes returns, by the names of Claude Code's modes that do not exist here, what takes their place.
func otherModes() map[string]Mode {
	return map[string]Mode{"default": ModeAsk, "acceptEdits": ModeAcceptEdits, "bypassPermissions": ModeFull}
}

// asks reports whether a person is asked about calls in the mode.
func (m Mode) asks() bool { return m != ModeFull && m != ModeReadOnly }

// modeNote is the kind of the note that holds the mode, so that a session that was planning resumes in plan mode.
const modeNote = "attractor.mode"

// notedMode returns the mode in the note of a session that is resumed, or "". lost reports whether a compaction has replaced what the model was
// told.
func notedMode(was *agent.State) (m Mode, lost bool) {
	if was == nil {
		return "", false
	}
	note, ok := was.Notes[modeNote]
	if !ok || json.Unmarshal(note.Data, &m) != nil {
		return "", false
	}
	return m, note.Replaced
}

// chooseMode completes the mode of the configuration: a session that was planning goes on planning, and any other asks. It also decides whether
// the model has the tool that leaves plan mode; a session that had it keeps it, because its requests must not change.
func (s *Setup) chooseMode(c *Config, was *agent.State) error {
	told, lost := notedMode(was)
	if c.Mode == "" {
		c.Mode = cmp.Or(c.Defaults.Mode, ModeAsk)
		if told == ModePlan {
			c.Mode = ModePlan
		}
	}
	if c.Mode != ModeReadOnly {
		if _, err := ParseMode(string(c.Mode)); err != nil {
			return fail(ErrConfig, "%w", err)
		}
	}
	s.plans = c.Interactive || c.Mode == ModePlan || told != ""
	if s.told = cmp.Or(told, ModeAsk); told == ModePlan && lost {
		s.told = ModeAsk // the model does not know any more
	}
	return nil
}

// Mode returns the mode of the session.
func (s *Setup) Mode() Mode { return s.Gate.Mode() }

// SetMode changes the mode. It can be called while the session runs: the mode counts for the calls that are judged from then on, also those
// of subagents. The model is told before its next answer. A read-only session stays read-only.
func (s *Setup) SetMode(ctx context.Context, m Mode) error {
	if _, err := ParseMode(string(m)); err != nil {
		return fail(ErrConfig, "%w", err)
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	was := s.Gate.Mode()
	if was == ModeReadOnly {
		return fail(ErrConfig, "this session is read-only, and stays so: begin another one to change anything")
	}
	if was != m {
		s.enter(m)
	}
	return s.tellMode(ctx)
}

// enter changes the mode and tells the host.
func (s *Setup) enter(m Mode) {
	s.Gate.SetMode(m)
	if s.OnMode != nil {
		s.OnMode(m)
	}
}

// tellMode notes the mode and tells the model of it, unless the model knows it. A session that has not begun is told when it begins.
func (s *Setup) tellMode(ctx context.Context) error {
	m := s.Gate.Mode()
	if s.session == nil || m == s.told || m == ModeReadOnly {
		return nil
	}
	if err := s.session.Note(ctx, modeNote, m.data(), s.modeText(m)); err != nil {
		return fmt.Errorf("the mode is %s, but the model cannot be told: %w", m, err)
	}
	s.told = m
	return nil
}

// tellFirst tells the model of a session that begins or is resumed whether it is planning. The other modes are the user's business.
func (s *Setup) tellFirst(ctx context.Context) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	m := s.Gate.Mode()
	if m == ModePlan || s.told == ModePlan {
		return s.tellMode(ctx)
	}
	if s.told = m; !s.plans || m == ModeReadOnly {
		return nil
	}
	return s.session.Note(ctx, modeNote, m.data(), "")
}

// data returns the mode as JSON.
func (m Mode) data() json.RawMessage { return json.RawMessage(`"` + string(m) + `"`) }

// modeText returns what the model is told when the mode changes.
func (s *Setup) modeText(m Mode) string {
	switch m {
	case ModePlan:
		return "The session is in plan mode. " + planRules + " " + s.Gate.howToLeave()
	case ModeAcceptEdits:
		return "The user changed the permission mode: file tools may change files in the session's directories without a question. The user is still asked about " +
			"other calls that change or run something." + s.planOver()
	case ModeFull:
		return "The user changed the permission mode: calls run without a question, unless a rule or a hook denies them." + s.planOver()
	}
	return "The user changed the permission mode: the user is asked about calls that change or run something." + s.planOver()
}

// planOver returns the end of the text for a model that was planning.
func (s *Setup) planOver() string {
	if s.told != ModePlan {
		return ""
	}
	return " Plan mode is over."
}

// listenForCompactions tells the model again that it is planning when a compaction may have replaced the text that said so.
func (s *Setup) listenForCompactions() {
	if s.Gate == nil || !s.plans {
		return
	}
	show := s.Options.OnEvent
	s.Options.OnEvent = func(ev agent.Event) {
		if _, is := ev.(*agent.Compaction); is && s.Gate.Mode() == ModePlan {
			s.tellAgain()
		}
		if show != nil {
			show(ev)
		}
	}
}

// tellAgain repeats that the session is in plan mode.
func (s *Setup) tellAgain() {
	s.changing.Lock()
	defer s.changing.Unlock()
	if s.Gate.Mode() != ModePlan || s.told != ModePlan {
		return
	}
	s.told = ModeAsk
	if err := s.tellMode(context.Background()); err != nil && !errors.Is(err, agent.ErrClosed) {
		s.warnings.add("mode", err.Error())
	}
}
