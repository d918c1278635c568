package chat

import (
	"context"
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/longsession"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/tty"
	"github.com/attractor-go/attractor/secret"
)

// withSession returns a program without a terminal, and a conversation whose scripted model answers
// without a call.
func withSession(t *testing.T) (*program, *conversation) {
	t.Helper()
	local, err := env.NewLocal(t.TempDir(), env.LocalOptions{Containment: env.ContainGroup})
	if err != nil {
		t.Fatal(err)
	}
	session, err := agent.New(context.Background(), longsession.Options(local, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &program{ctx: t.Context(), posts: make(chan func()), ended: make(chan struct{})}
	p.history, _ = tty.OpenHistory("") // which reads no file
	p.front = blank{p}
	return p, &conversation{session: session, setup: &attractor.Setup{Secrets: secret.New()},
		view: render.NewSession(render.Style{}), live: render.NewLive()}
}

// What a resumed session shows of its last answer has no secret, although the history has the
// answer as the model wrote it.
func TestL7_RecapIsMasked(t *testing.T) {
	p, c := withSession(t)
	if _, err := c.session.Submit(t.Context(), "How is it?"); err != nil {
		t.Fatal(err)
	}
	if err := c.setup.Secrets.Register("WORDS", "tests of package 1"); err != nil {
		t.Fatal(err)
	}
	p.current = c
	p.recap()
	if text := p.above.String(); !strings.Contains(text, "How is it?") || !strings.Contains(text, "[secret WORDS]") ||
		strings.Contains(text, "of package 1") {
		t.Errorf("the recap is\n%s", text)
	}
}

// A recap shows the last answer as it looked when it came, and not all of a long one.
func TestN3_RecapIsRendered(t *testing.T) {
	p, _ := withSession(t)
	p.Style = render.Style{Rich: true, Width: 40}
	if got := p.beginning("## Done\n\n- It **passes**."); got != "Done\n\n• It passes.\n" {
		t.Errorf("a short answer is %q", got)
	}
	got := p.beginning(strings.Repeat("- an item\n", recapRows+5))
	if strings.Count(got, "• an item\n") != recapRows || !strings.HasSuffix(got, "\n… 5 more lines\n") {
		t.Errorf("a long answer is %q", got)
	}
}

// An error of a session that is shown has no secret.
func TestL7_WarningsAreMasked(t *testing.T) {
	p, c := withSession(t)
	if err := c.setup.Secrets.Register("KEY", "sesame-open-1234"); err != nil {
		t.Fatal(err)
	}
	p.current = c
	p.warn("cannot reach https://example.com/?pass=sesame-open-1234")
	if text := p.above.String(); !strings.Contains(text, "[secret KEY]") || strings.Contains(text, "sesame") {
		t.Errorf("the warning is %q", text)
	}
}

// A person who leaves while a session is being resumed does not wait for the input that it has
// open.
func TestN3_LeavingDoesNotGoOn(t *testing.T) {
	p, c := withSession(t)
	if err := c.session.Begin(t.Context(), "Begin."); err != nil {
		t.Fatal(err)
	}
	p.leaving = true
	p.opened(attractor.Config{}, c, "", nil)
	if p.current != c || p.task != nil {
		t.Errorf("the session works on: %+v", p.task)
	}
}

// What the last key has to say is wrapped, so that a narrow terminal has all of it.
func TestN3_HintsAreWrapped(t *testing.T) {
	p, c := withSession(t)
	p.current, p.Style.Width = c, 58
	f := &rich{program: p}
	for other := range otherCommands() {
		if !p.unknown("/" + other) {
			t.Fatalf("/%s is known", other)
		}
		rows := f.status(p)
		if strings.Join(rows, " ") != p.hint || len(rows) > hintRows {
			t.Errorf("the hint %q has the rows %q", p.hint, rows)
		}
		for _, row := range rows {
			if render.Width(row) > p.Style.Width {
				t.Errorf("a row is too long: %q", row)
			}
		}
	}
	p.hint = strings.Repeat("words ", 100)
	if rows := f.status(p); len(rows) != hintRows {
		t.Errorf("a long hint has %d rows", len(rows))
	}
}

// A session with an input of the page is kept, also if the input came while the terminal did
// something else, and has ended before its events were shown.
func TestN5_InputsOfThePageAreKept(t *testing.T) {
	p, c := withSession(t)
	p.current, p.task = c, &task{what: "looking for the session"}
	p.event(c, &agent.UserInput{})
	if !c.used {
		t.Error("the session would be removed")
	}
}
