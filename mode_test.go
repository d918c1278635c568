package attractor

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/permit"
)

// The mode changes while a session works. The model is told once of each change, and nothing of
// what was sent before changes.
func TestN8_ModesChange(t *testing.T) {
	b := newBench(t, writeTurn("one", "x"), writeTurn("two", "x"), fakellm.Turn{Text: "done"}, writeTurn("three", "x"),
		fakellm.Turn{Text: "done"})
	meter := llmtest.NewMeter(b.server)
	web := httptest.NewServer(meter)
	t.Cleanup(web.Close)
	b.url = web.URL
	c := b.config()
	c.Mode, c.Interactive, c.Ask = permit.ModeFull, true, yes
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.Questions = &agent.Questions{}
	var told []permit.Mode
	setup.OnMode = func(m permit.Mode) { told = append(told, m) }
	changed := false
	setup.Options.OnEvent = func(ev agent.Event) {
		if _, is := ev.(*agent.ToolCallEnd); is && !changed {
			changed = true
			if err := setup.SetMode(context.Background(), permit.ModePlan); err != nil {
				t.Error(err)
			}
		}
	}
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	submit := func(task string) {
		if _, err := session.Submit(t.Context(), task); err != nil {
			t.Error(err)
		}
	}
	submit("the first task")
	if _, err := os.Stat(filepath.Join(b.dir, "two")); err == nil {
		t.Error("the second call was judged in the old mode")
	}
	for _, m := range []permit.Mode{permit.ModePlan, permit.ModeFull} {
		if err := setup.SetMode(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	for _, m := range []permit.Mode{"everything", permit.ModeReadOnly, ""} {
		if err := setup.SetMode(t.Context(), m); !errors.Is(err, ErrConfig) {
			t.Errorf("%q: %v", m, err)
		}
	}
	submit("the second task")
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "three")); err != nil ||
		!slices.Equal(told, []permit.Mode{permit.ModePlan, permit.ModeFull}) || setup.Mode() != permit.ModeFull {
		t.Errorf("%v; told %v, then %s", err, told, setup.Mode())
	}
	c.Mode = permit.ModeReadOnly
	if setup, err = prepare(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := setup.SetMode(t.Context(), permit.ModeFull); !errors.Is(err, ErrConfig) ||
		setup.Mode() != permit.ModeReadOnly {
		t.Errorf("a read-only session is now in the mode %s: %v", setup.Mode(), err)
	}
	if err := setup.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(b.lastRequest(), "The session is in plan mode."); n != 1 || !strings.Contains(b.lastRequest(),
		"Plan mode is over.") || len(meter.Breaks()) > 0 {
		t.Errorf("told %d times; %v; %s", n, meter.Breaks(), b.lastRequest())
	}
}

// A session that was planning goes on planning when it is resumed, unless the user says otherwise.
// Any other asks again.
func TestN8_ModesOnResume(t *testing.T) {
	for name, c := range map[string]struct{ was, flag, want permit.Mode }{
		"plan":                  {permit.ModePlan, "", permit.ModePlan},
		"full":                  {permit.ModeFull, "", permit.ModeAsk},
		"accept-edits":          {permit.ModeAcceptEdits, "", permit.ModeAsk},
		"read-only":             {permit.ModeReadOnly, "", permit.ModeAsk},
		"plan, and full now":    {permit.ModePlan, permit.ModeFull, permit.ModeFull},
		"plan, and read-only":   {permit.ModePlan, permit.ModeReadOnly, permit.ModeReadOnly},
		"full, and plan now":    {permit.ModeFull, permit.ModePlan, permit.ModePlan},
		"plan, fork":            {permit.ModePlan, "fork", permit.ModePlan},
		"plan, and left before": {"left", "", permit.ModeAsk},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"})
			config := b.config()
			if config.Mode = c.was; c.was == "left" {
				config.Mode = permit.ModePlan
			}
			setup, session := b.begin(config)
			_, err := session.Submit(t.Context(), "the task")
			if c.was == "left" {
				err = errors.Join(err, setup.SetMode(t.Context(), permit.ModeAcceptEdits))
			}
			if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
				t.Fatal(err)
			}
			if config.Resume, config.Mode = session.ID(), c.flag; c.flag == "fork" {
				config.Fork, config.Resume, config.Mode = session.ID(), "", ""
			}
			setup, err = prepare(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if session, err = setup.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			_, err = session.Submit(t.Context(), "go on")
			if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
				t.Error(err)
			}
			if setup.Mode() != c.want {
				t.Errorf("the mode is %s", setup.Mode())
			}
			last := b.lastRequest()
			planned := c.was == permit.ModePlan || c.was == "left" || c.want == permit.ModePlan
			if n := strings.Count(last, "The session is in plan mode."); n > 1 || (n == 1) != planned {
				t.Errorf("told %d times that it plans: %s", n, last)
			}
			over := planned && c.want != permit.ModePlan && c.want != permit.ModeReadOnly
			if strings.Contains(last, "Plan mode is over.") != over {
				t.Errorf("told that planning is over, or not: %s", last)
			}
		})
	}
}

// A person changes model and effort, also to another provider's. What a command changes for an
// input does not undo that.
func TestN8_ModesSetModel(t *testing.T) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"}, fakellm.Turn{Text: "three"},
		fakellm.Turn{Text: "four"})
	c := b.config()
	c.Interactive, c.chosen.provider = true, ptr("anthropic")
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url, "OPENAI_API_KEY", "k",
		"OPENAI_BASE_URL", b.url+"/v1")
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	submit := func() {
		if _, err := setup.Submit(t.Context(), session, "go on"); err != nil {
			t.Error(err)
		}
	}
	submit()
	if list := setup.Models(); !slices.ContainsFunc(list, func(m Model) bool { return m.Provider == "openai" }) ||
		list[0].Provider != "anthropic" {
		t.Errorf("the models are %+v", list)
	}
	if slices.ContainsFunc(setup.Models(), func(m Model) bool { return m.Provider == "gemini" }) {
		t.Error("a provider without a key is offered")
	}
	for _, err := range []error{setup.SetModel(t.Context(), "", ""), setup.SetModel(t.Context(), "nobody", "m"),
		setup.SetModel(t.Context(), "gemini", "m"), setup.SetEffort(t.Context(), "enormous")} {
		if err == nil {
			t.Error("a wrong choice is no error")
		}
	}
	if err := setup.SetEffort(t.Context(), setup.Efforts()[0]); err != nil {
		t.Error(err)
	}
	level := setup.Efforts()[len(setup.Efforts())-1]
	lacking := slices.IndexFunc(setup.Models(), func(m Model) bool {
		return m.Efforts != nil && !slices.Contains(m.Efforts, level)
	})
	if lacking < 0 {
		t.Fatalf("every model has the effort %s", level)
	}
	m := setup.Models()[lacking]
	if err := errors.Join(setup.SetEffort(t.Context(), level), setup.SetModel(t.Context(), m.Provider,
		m.ID)); err != nil {
		t.Error(err)
	}
	if provider, model, effort := setup.Model(); provider != m.Provider || model != m.ID || effort != "" {
		t.Errorf("%s of %s with the effort %q, which it lacks", model, provider, effort)
	}
	if err := setup.SetModel(t.Context(), "openai", "gpt-unknown"); err != nil {
		t.Error(err)
	}
	submit()
	requests := b.server.Requests()
	if last := requests[len(requests)-1]; last.Path != "/v1/responses" || last.Model != "gpt-unknown" {
		t.Errorf("%s of %s", last.Path, last.Model)
	}
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	c.Resume, c.chosen.provider = session.ID(), nil
	if setup, err = prepare(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if provider, model, _ := setup.Model(); provider != "openai" || model != "gpt-unknown" {
		t.Errorf("resumed with %s of %s", model, provider)
	}
	if err := setup.Close(); err != nil {
		t.Error(err)
	}
}

// A compaction does not let the model forget that it plans, also if nobody can be asked and the
// session began in another mode.
func TestN8_ModesAfterCompaction(t *testing.T) {
	for _, began := range []permit.Mode{permit.ModePlan, permit.ModeFull} {
		t.Run(string(began), func(t *testing.T) { planThroughCompaction(t, began) })
	}
}

// planThroughCompaction plans in a session that began in a mode.
func planThroughCompaction(t *testing.T, began permit.Mode) {
	b := newBench(t, fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"}, fakellm.Turn{Text: "three"},
		fakellm.Turn{Text: "four"})
	c := b.config()
	c.Mode = began
	setup, err := prepare(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.Compaction.KeepTurns = 1
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	submit := func() {
		t.Helper()
		if _, err := session.Submit(t.Context(), "go on"); err != nil {
			t.Error(err)
		}
	}
	submit()
	if err := setup.SetMode(t.Context(), permit.ModePlan); err != nil {
		t.Error(err)
	}
	submit()
	if err := session.Compact(t.Context()); err != nil {
		t.Error(err)
	}
	submit()
	if last := b.lastRequest(); strings.Count(last, "The session is in plan mode.") != 1 ||
		!strings.Contains(last, "was replaced by this summary") {
		t.Errorf("after the compaction: %s", last)
	}
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
}

// A model that a person chooses while a command's model works stays when the command is done.
func TestN8_ModesSetModelDuringACommand(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/commands/do.md": "---\nmodel: haiku\n---\nDo it."},
		fakellm.Turn{Text: "one"}, fakellm.Turn{Text: "two"}, fakellm.Turn{Text: "three"})
	b.config.Interactive = true
	setup, err := prepare(t.Context(), b.config)
	if err != nil {
		t.Fatal(err)
	}
	choose := true
	setup.Options.OnEvent = func(ev agent.Event) {
		if _, is := ev.(*agent.AssistantTextEnd); is && choose {
			choose = false
			if err := setup.SetModel(context.Background(), "", "claude-chosen"); err != nil {
				t.Error(err)
			}
		}
	}
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var used []string
	for _, line := range []string{"/do", "go on", "/do"} {
		if _, err := setup.Submit(t.Context(), session, line); err != nil {
			t.Error(err)
		}
		requests := b.server.Requests()
		used = append(used, requests[len(requests)-1].Model)
	}
	if _, model, _ := setup.Model(); !strings.Contains(used[0], "haiku") || used[1] != "claude-chosen" ||
		used[2] != used[0] || model != "claude-chosen" {
		t.Errorf("%v, then %s", used, model)
	}
	if err := errors.Join(session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
}
