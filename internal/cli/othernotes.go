package cli

import (
	"fmt"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/internal/settings"
	"github.com/attractor-go/attractor/load"
)

// tellNotes tells how many settings of other agents have no effect, once for each.
func tellNotes(t terminal, setup *attractor.Setup) {
	notes := append(load.OtherSettings(setup.Project, os.Getenv), setup.Rules.Warnings()...)
	if len(notes) > 0 && load.NewNotes(notes, os.Getenv) {
		fmt.Fprintf(t.err, "attractor: %s about settings that have no effect here: attractor doctor\n",
			render.Count(len(notes), "note"))
	}
}

// useOtherVars gives this process the variables that the user's settings of another agent set, as
// if they were exported. Those of the environment count before.
func useOtherVars(args []string) {
	if len(args) > 0 && args[0] == "env" { // the helper of a session that is elsewhere
		return
	}
	for name, text := range settings.ReadOthers(os.Getenv).Vars {
		if _, is := os.LookupEnv(name); !is {
			_ = os.Setenv(name, text) // a name that the system does not take stays unset
		}
	}
}
