package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/sanitize"
)

// tellMistake returns a function that tells of a mistake in a document.
func tellMistake(t terminal) func(instructions.Mistake) {
	return func(m instructions.Mistake) { warn(t.err, m.String()) }
}

// showSources lists the documents of the prompt of sessions in a directory.
func showSources(ctx context.Context, t terminal, dir string, p profile.Profile) error {
	o := agent.Options{Profile: p, Documents: attractor.Documents(ctx, p.Name, os.Getenv)}
	o.Documents.Warn = tellMistake(t)
	found, err := attractor.FindDocuments(ctx, dir, o)
	if err != nil {
		return hostError(err)
	}
	return printSources(t, found)
}

// printSources lists the documents of a prompt in their order, with what becomes of each.
func printSources(t terminal, found *instructions.Found) error {
	if len(found.Documents) == 0 {
		_, err := fmt.Fprintln(t.out, "There is no AGENTS.md or the like. "+
			"Those of directories below come when a session reads or changes a file there.")
		return err
	}
	shown := 0
	for i := range found.Documents {
		d := &found.Documents[i]
		shown += d.Shown
		if _, err := fmt.Fprintf(t.out, "%7d bytes  %s: %s\n", d.Size, sanitize.Line(d.Path),
			describeSource(d)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(t.out,
		"%d bytes of the prompt. The documents of directories below come when a session reads or changes a file "+
			"there.\n", shown)
	return err
}

// describeSource says what becomes of a document.
func describeSource(d *instructions.Document) string {
	var text string
	other := sanitize.Line(d.Other)
	switch d.State {
	case instructions.Whole:
		text = "in the prompt"
	case instructions.Cut:
		text = fmt.Sprintf("cut, %d bytes are in the prompt", d.Shown)
	case instructions.LeftOut:
		text = "left out, because there is no room"
	case instructions.Shadowed:
		text = "not used, because " + other + " takes its place"
	case instructions.Equal:
		text = "not used again, because it equals " + other
	case instructions.Later:
		text = "comes with files that match " + sanitize.Line(strings.Join(d.Globs, ", "))
	}
	if d.By != "" {
		text += "; imported by " + sanitize.Line(d.By)
	}
	return text
}
