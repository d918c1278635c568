package attractor

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A window that was said belongs to its model: others have theirs, and it is there again when the
// session comes back to the model, also after a command with a model of its own and when the
// session is resumed.
func TestN8_WindowsBelongToTheirModels(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/do.md": "---\nmodel: haiku\n---\nDo it."},
		fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
	mine, other := "mine", "claude-sonnet-4-5"
	b.config.Interactive, b.config.chosen.model, b.config.chosen.window = true, &mine,
		&Window{Tokens: 40_000, Model: mine}
	var windows []int
	open := func(during func(setup *Setup, session *agent.Session)) {
		t.Helper()
		setup, session := b.begin(b.config)
		during(setup, session)
		if err := errors.Join(session.Close(), setup.Close()); err != nil {
			t.Error(err)
		}
	}
	note := func(session *agent.Session) { windows = append(windows, session.Policy().Window) }
	open(func(setup *Setup, session *agent.Session) {
		b.config.Resume = session.ID()
		note(session)
		for _, model := range []string{other, mine} {
			if err := setup.SetModel(context.Background(), "", model); err != nil {
				t.Error(err)
			}
			note(session)
		}
		if _, err := setup.Submit(t.Context(), session, "/do"); err != nil {
			t.Error(err)
		}
		note(session)
	})
	b.config.chosen.window = nil
	open(func(_ *Setup, session *agent.Session) { note(session) })
	b.config.chosen.window, b.config.Resume, b.config.chosen.model = &Window{Tokens: 40_000, Model: mine}, "", &other
	open(func(_ *Setup, session *agent.Session) { note(session) })
	if want := []int{40_000, 200_000, 40_000, 40_000, 40_000, 200_000}; !slices.Equal(windows, want) {
		t.Errorf("the windows are %v, want %v", windows, want)
	}
}
