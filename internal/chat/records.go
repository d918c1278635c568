package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/sessions/costs"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/undo"
)

// read opens the session's journal on a goroutine of its own, and shows the text that read returns.
func (p *program) read(about string, read func(ctx context.Context, r journal.Reader) (string, error)) {
	c := p.current
	if c.config.Store == nil {
		p.warn(about + " is in the records of the session, which are not kept (--no-journal)")
		return
	}
	text := ""
	p.background(func(ctx context.Context) error {
		r, err := c.config.Store.Read(ctx, c.session.ID())
		if err != nil {
			return err
		}
		text, err = read(ctx, r)
		return errors.Join(err, r.Close())
	}, func(err error) {
		if err != nil {
			p.warn(err.Error())
			return
		}
		p.say(text)
	})
}

// maxDiffs bounds the bytes of diffs that /diff shows.
const maxDiffs = 256 << 10

// diff implements /diff: it shows what attractor sessions diff shows, and what the calls say of
// files elsewhere. If nothing is recorded, it shows all that the calls say.
func (p *program) diff(string) {
	style, setup := p.Style, p.current.setup
	p.read("what was changed", func(ctx context.Context, r journal.Reader) (string, error) {
		dir, why, text := setup.Machine.WorkDir(), "", ""
		diff, err := setup.Diff(ctx, maxDiffs)
		switch {
		case errors.Is(err, undo.ErrNothing):
			dir, why = "", render.OneLine(err.Error())
		case err != nil:
			return "", err
		default:
			text = diff.Text()
		}
		own, err := ownDiffs(ctx, r, style, dir)
		text = render.UnifiedDiff(style, sanitize.Text(text)) + setup.Secrets.String(own)
		switch {
		case why != "" && text != "":
			text = why + "; the calls say:\n" + text
		case text == "":
			text = cmp.Or(why, "the session has changed nothing")
		}
		return text, err
	})
}

// ownDiffs returns what the calls of a session say that they have changed, which commands do not.
// What is in dir is left out; empty means nothing.
func ownDiffs(ctx context.Context, r journal.Reader, style render.Style, dir string) (string, error) {
	var b strings.Builder
	left := 0
	err := agent.Project(ctx, r, func(ev agent.Event) {
		e, ok := ev.(*agent.ToolCallEnd)
		if !ok {
			return
		}
		for _, c := range e.Changes {
			if dir != "" && strings.HasPrefix(c.Path, strings.TrimSuffix(dir, "/")+"/") {
				continue
			}
			if b.Len() > maxDiffs {
				left++
				continue
			}
			b.WriteString(diffText(style, c))
		}
	})
	if left > 0 {
		fmt.Fprintf(&b, "… and %s\n", render.Count(left, "more change"))
	}
	return b.String(), err
}

// diffText returns a change of a file.
func diffText(style render.Style, c tool.Change) string {
	head := fmt.Sprintf("%s %s", c.Kind, render.OneLine(c.Path))
	if c.From != "" {
		head = fmt.Sprintf("moved %s to %s", render.OneLine(c.From), render.OneLine(c.Path))
	}
	return strings.Join(append([]string{style.Bold(head)}, render.Diff(style, c, 0)...), "\n") + "\n"
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
