package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/acp"
	"github.com/attractor-go/attractor/undo"
)

// maxEditorDiffs bounds the bytes of the diff that an editor shows.
const maxEditorDiffs = 64 << 10

// ownCommands returns the commands of a conversation that an editor has, too, unless the user has
// others with their names.
func (r *editorSession) ownCommands() []acp.Command {
	own := []acp.Command{
		{Name: "undo", Description: "Take back what the session has changed, as far as nobody else has changed " +
			"it since", Hint: "the turn after which, or nothing for the last input that changed something"},
		{Name: "redo", Description: "Take the last undo back"},
		{Name: "diff", Description: "Show what the session has changed"},
	}
	return slices.DeleteFunc(own, func(c acp.Command) bool {
		return slices.ContainsFunc(r.Commands(), func(other attractor.Command) bool { return other.Name == c.Name })
	})
}

// ownCommand returns what a line does if it calls one of the own commands, else nil.
func (r *editorSession) ownCommand(line string) func(ctx context.Context) error {
	name, arguments, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "/"), " ")
	if !strings.HasPrefix(line, "/") || !slices.ContainsFunc(r.ownCommands(),
		func(c acp.Command) bool { return c.Name == name }) {
		return nil
	}
	return func(ctx context.Context) error {
		switch name {
		case "diff":
			return r.diff(ctx)
		case "redo":
			return r.takeBack(ctx, undo.Options{Redo: true})
		}
		var o undo.Options
		if text := strings.TrimSpace(arguments); text != "" {
			turn, err := undo.ParseTurn(text)
			if err != nil {
				return err
			}
			o.Turn = turn
		}
		return r.takeBack(ctx, o)
	}
}

// takeBack plans an undo, asks about it and carries it out.
func (r *editorSession) takeBack(ctx context.Context, o undo.Options) error {
	said, err := r.Undo(ctx, o, mostPlanned, func(ctx context.Context, plan attractor.UndoPlan) (bool, error) {
		return r.client.Confirm(ctx, "undo", plan.Text)
	})
	if said != "" {
		r.client.Say(said)
	}
	return err
}

// diff shows what the session has changed.
func (r *editorSession) diff(ctx context.Context) error {
	diff, err := r.Diff(ctx, maxEditorDiffs)
	if err != nil {
		return err
	}
	text := diff.Text()
	if text == "" {
		r.client.Say("The session has changed nothing.")
		return nil
	}
	r.client.Say(fenced("diff", text))
	return nil
}
