package chat

import (
	"context"
	"errors"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/undo"
)

// mostPlanned limits the paths of each kind that /undo shows.
const mostPlanned = 15

// undo implements /undo.
func (p *program) undo(arguments string) {
	turn, err := undo.ParseTurn(arguments)
	if err != nil {
		p.warn(err.Error())
		return
	}
	p.takeBack(undo.Options{Turn: turn})
}

// redo implements /redo.
func (p *program) redo(string) { p.takeBack(undo.Options{Redo: true}) }

// takeBack shows what an undo would do, asks, and does it.
func (p *program) takeBack(c undo.Options) {
	setup := p.current.setup
	p.start(&task{what: "taking changes back"}, func(ctx context.Context) func() {
		said, err := p.undone(ctx, setup, c)
		return func() {
			used := (*checkpoint.InUseError)(nil)
			switch {
			case errors.Is(err, context.Canceled):
				p.note("nothing more is put back; /undo goes on if it was interrupted")
			case errors.As(err, &used):
				p.warn(err.Error() + "; an undo needs the directory alone")
			case errors.Is(err, undo.ErrNothing):
				p.note(err.Error())
			case err != nil:
				p.warn(err.Error())
			}
			p.note(said)
		}
	})
}

// undone plans an undo, asks about it and carries it out. It returns what it did.
func (p *program) undone(ctx context.Context, setup *attractor.Setup, c undo.Options) (said string, err error) {
	u, err := setup.PlanUndo(ctx, c)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	asked := person{p}
	release, err := asked.Take(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	asked.Say(setup.Secrets.String(u.Text(mostPlanned)))
	if u.Plan.Empty() && !u.Resumed {
		return "", nil
	}
	line, err := asked.ReadLine(ctx, "Do this? [y/N] ")
	if err != nil {
		return "", err
	}
	if answer := strings.ToLower(line); answer != "y" && answer != "yes" {
		return "nothing was changed", nil
	}
	result, err := setup.RunUndo(ctx, u)
	if err != nil {
		return "", err
	}
	back := "/redo"
	if u.Redo {
		back = "/undo"
	}
	return undo.Report(&result, mostPlanned) + back + " takes this back; the agent is told with your next message", nil
}
