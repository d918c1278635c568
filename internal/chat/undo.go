package chat

import (
	"context"
	"errors"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/undo"
)

// mostPlanned limits the paths of each kind that /undo shows.
const mostPlanned = 15

// undo implements /undo.
func (p *program) undo(arguments string) {
	var o undo.Options
	if arguments != "" {
		turn, err := undo.ParseTurn(arguments)
		if err != nil {
			p.warn(err.Error())
			return
		}
		o.Turn = turn
	}
	p.takeBack(o)
}

// redo implements /redo.
func (p *program) redo(string) { p.takeBack(undo.Options{Redo: true}) }

// takeBack shows what an undo would do, asks, and does it.
func (p *program) takeBack(o undo.Options) {
	setup, said := p.current.setup, ""
	p.alone("taking changes back", func(ctx context.Context) (err error) {
		said, err = setup.Undo(ctx, o, mostPlanned, p.confirm)
		return err
	}, func(err error) {
		switch {
		case errors.Is(err, context.Canceled):
			p.note("nothing more is put back; /undo goes on if it was interrupted")
		case errors.Is(err, undo.ErrNothing):
			p.note(err.Error())
		case err != nil:
			p.warn(err.Error())
		}
		p.note(said)
	})
}

// confirm shows what an undo would do, and asks about it.
func (p *program) confirm(ctx context.Context, plan attractor.UndoPlan) (bool, error) {
	asked := person{p}
	release, err := asked.Take(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	asked.Say(plan.Text)
	line, err := asked.ReadLine(ctx, "Do this? [y/N] ")
	answer := strings.ToLower(line)
	return answer == "y" || answer == "yes", err
}
