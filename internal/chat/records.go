package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/undo"
)

// read reads the session's journal beside what runs, and shows the text that read returns.
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
			dir, why = "", oneLine(err.Error())
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
	head := fmt.Sprintf("%s %s", c.Kind, oneLine(c.Path))
	if c.From != "" {
		head = fmt.Sprintf("moved %s to %s", oneLine(c.From), oneLine(c.Path))
	}
	return strings.Join(append([]string{style.Bold(head)}, render.Diff(style, c, 0)...), "\n") + "\n"
}

// spending holds what a model has used.
type spending struct {
	usage llm.Usage
	usd   float64
}

// cost implements /cost.
func (p *program) cost(string) {
	p.read("what was used", costs)
}

// costs returns what a session has used by model and, if it was not only for answers, by purpose.
func costs(ctx context.Context, r journal.Reader) (string, error) {
	models, purposes := map[string]spending{}, map[string]spending{}
	state := new(agent.State)
	for line, err := range r.Records(ctx, 1) {
		if err != nil {
			return "", err
		}
		usage, usd, model := state.Usage, state.Cost, state.Provider+"/"+state.Model
		if err := state.Fold(line); err != nil {
			return "", err
		}
		if used := (spending{state.Usage.Sub(usage), state.Cost - usd}); used.usage.Total() > 0 || used.usd > 0 {
			models[model] = models[model].plus(used)
			purposes[purposeOf(line.Kind)] = purposes[purposeOf(line.Kind)].plus(used)
		}
	}
	var b strings.Builder
	for _, model := range slices.Sorted(maps.Keys(models)) {
		fmt.Fprintf(&b, "  %s: %s\n", oneLine(model), models[model])
	}
	if len(models) != 1 {
		fmt.Fprintf(&b, "  together: %s\n", spending{state.Usage, state.Cost})
	}
	if _, answers := purposes[purposeOf("answer")]; len(purposes) > 1 || !answers && len(purposes) > 0 {
		for _, purpose := range slices.Sorted(maps.Keys(purposes)) {
			fmt.Fprintf(&b, "    for %s: %s\n", purpose, purposes[purpose])
		}
	}
	return b.String(), nil
}

// purposeOf returns what the model was asked for, by the kind of the record that has the usage.
func purposeOf(kind string) string {
	switch kind {
	case "answer":
		return "answers"
	case "fault", "spent":
		return "attempts that failed"
	case "compact":
		return "summaries of the history"
	case "child":
		return "subagents"
	}
	return "the last words at a limit"
}

func (s spending) plus(o spending) spending { return spending{s.usage.Add(o.usage), s.usd + o.usd} }

// String returns the tokens and, if the prices are known, the money.
func (s spending) String() string { return render.Spent(s.usage, 0, s.usd) }
