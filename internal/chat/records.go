package chat

import (
	"context"
	"errors"

	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/sessions/costs"
	"github.com/attractor-go/attractor/undo"
)

// read opens the session's journal on a goroutine of its own, and shows the text that read returns.
func (p *program) read(about string, read func(ctx context.Context, r journal.Reader) (string, error)) {
	c := p.current
	if c.config.Store == nil {
		p.warn(about + " is in the records of the session, which are not kept (--no-journal)")
		return
	}
	p.tell(p.say, func(ctx context.Context) (string, error) {
		r, err := c.config.Store.Read(ctx, c.session.ID())
		if err != nil {
			return "", err
		}
		text, err := read(ctx, r)
		return text, errors.Join(err, r.Close())
	})
}

// maxDiffs bounds the bytes of diffs that /diff shows.
const maxDiffs = 256 << 10

// diff implements /diff: it shows what attractor sessions diff shows.
func (p *program) diff(string) {
	style, setup, text := p.Style, p.current.setup, ""
	p.background(func(ctx context.Context) error {
		diff, err := setup.Diff(ctx, maxDiffs)
		if err == nil {
			text = render.UnifiedDiff(style, sanitize.Text(diff.Text()))
		}
		return err
	}, func(err error) {
		switch {
		case errors.Is(err, undo.ErrNothing):
			p.note(render.OneLine(err.Error()))
		case err != nil:
			p.warn(err.Error())
		case text == "":
			p.note("the session has changed nothing")
		}
		p.say(text)
	})
}

// cost implements /cost.
func (p *program) cost(string) {
	setup := p.current.setup
	style := p.Style
	p.read("what was used", func(ctx context.Context, r journal.Reader) (string, error) {
		sum, err := costs.Read(ctx, r, setup.Options.Client.Models)
		if err != nil {
			return "", err
		}
		return style.Prose(setup.Secrets.String(render.Costs(sum))), nil
	})
}
