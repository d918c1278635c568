package instructions

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/sanitize"
)

// What ends a text whose end is missing.
const (
	projectCut = "[Project instructions truncated at 32KB]"
	userCut    = "[User instructions truncated at 32KB]"
)

// render returns the text of documents within the budget, and sets their states.
func render(documents []Document, ending string) string {
	var b strings.Builder
	full := false
	for i := range documents {
		d := &documents[i]
		switch {
		case d.State != "":
			continue
		case len(d.Globs) > 0:
			d.State = Later
			continue
		case full:
			d.State = LeftOut
			continue
		}
		section := d.section()
		if left := budget - b.Len(); !d.whole || len(strings.TrimSpace(section)) > left {
			section = strings.TrimSpace(cutText(section, left))
			b.WriteString(section + "\n" + ending)
			full, d.State, d.Shown = true, Cut, len(section)
			continue
		}
		d.State, d.Shown = Whole, len(section)
		b.WriteString(section)
	}
	return strings.TrimSpace(b.String())
}

// section returns the text of a document under a heading, which says what it applies to.
func (d *Document) section() string {
	name := sanitize.Line(d.Path)
	if d.Dir == "" {
		return fmt.Sprintf("# User instructions from %s\n\n%sThey apply to all projects.\n\n%s\n\n", name, d.imported(),
			d.text)
	}
	scope := "all files in " + sanitize.Line(d.Dir) + " and below"
	if len(d.Globs) > 0 {
		var globs []string
		for _, glob := range d.Globs {
			globs = append(globs, sanitize.Line(glob))
		}
		scope = "the files in " + sanitize.Line(d.Dir) + " that match " + strings.Join(globs, ", ")
	}
	return fmt.Sprintf("# Project instructions from %s\n\n%sThey apply to %s.\n\n%s\n\n", name, d.imported(), scope,
		d.text)
}

func (d *Document) imported() string {
	if d.By == "" {
		return ""
	}
	return "Imported by " + sanitize.Line(d.By) + ". "
}

// cutWarning returns what a warning says about a document that is not all in the prompt.
func cutWarning(d *Document) string {
	whose := "a project's"
	if d.Dir == "" {
		whose = "a user's"
	}
	if d.State == LeftOut {
		return fmt.Sprintf("it is left out, because %s instructions can have %d bytes in all", whose, budget)
	}
	return fmt.Sprintf("it has %d bytes and is cut, because %s instructions can have %d bytes in all", d.Size, whose,
		budget)
}
