package cli

import (
	"context"
	"errors"
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
		{Name: "undo", Description: "Take back what the session has changed, as far as nobody else has changed it since",
			Hint: "the turn after which, or nothing for the last input that changed something"},
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
		turn, err := undo.ParseTurn(strings.TrimSpace(arguments))
		if err != nil {
			return err
		}
		return r.takeBack(ctx, undo.Options{Turn: turn})
	}
}

// takeBack plans an undo, asks about it and carries it out.
func (r *editorSession) takeBack(ctx context.Context, o undo.Options) (err error) {
	u, err := r.PlanUndo(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.Close()) }()
	plan := r.Secrets.String(u.Text(mostPlanned))
	if u.Plan.Empty() && !u.Resumed {
		r.client.Say(plan)
		return nil
	}
	yes, err := r.client.Confirm(ctx, "undo", plan)
	if err != nil || !yes {
		return err
	}
	result, err := r.RunUndo(ctx, u)
	if err != nil {
		return err
	}
	back := "/redo"
	if u.Redo {
		back = "/undo"
	}
	r.client.Say(undo.Report(&result, mostPlanned) + "\n" + back +
		" takes this back; the agent is told with your next message.")
	return nil
}

// diff shows what the session has changed.
func (r *editorSession) diff(ctx context.Context) (err error) {
	if r.store == nil {
		r.client.Say("What was changed is in the records of the session, which are not kept (--no-journal).")
		return nil
	}
	log, err := r.store.Read(ctx, r.session.ID())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	diff, err := r.Diff(ctx, log, maxEditorDiffs)
	if err != nil {
		return err
	}
	text := ""
	if diff != nil {
		text = r.Secrets.String(diff.Text())
	}
	if text == "" {
		r.client.Say("The session has changed nothing that is recorded.")
		return nil
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	r.client.Say(fence + "diff\n" + strings.TrimSuffix(text, "\n") + "\n" + fence)
	return nil
}
