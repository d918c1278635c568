package shell_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules/shell"
)

// Go commands may start another version of Go, which does not matter where they can do nothing, nor
// for go version if the user has chosen one.
func TestL2_GoMayBeAnother(t *testing.T) {
	p := newPlace(t)
	for script, want := range map[string]string{ // who may run it without a question: chosen, observed, nobody
		"go version":                   "chosen",
		"go help build":                "observed",
		"go env":                       "observed",
		"go env GOMOD":                 "observed",
		"go env -json GOROOT":          "observed",
		"go env -w X=Y":                "nobody",
		"go doc fmt":                   "observed",
		"go doc -http":                 "nobody",
		"go list ./...":                "observed",
		"go list -m -f {{.Path}} all":  "observed",
		"go list -json=Dir ./x":        "observed",
		"go list -mod=mod ./...":       "nobody",
		"go list -toolexec=./x ./...":  "nobody",
		"go list -export -f x ./...":   "nobody",
		"go list -- ./...":             "nobody",
		"GOFLAGS=-count=1 go version":  "chosen",
		"GOFLAGS='-v -short' go env":   "observed",
		"GOFLAGS=-toolexec=./x go env": "nobody",
		"GOFLAGS=-vx go env":           "nobody",
		"GOFLAGS='-v x' go env":        "nobody",
		"GOFLAGS=-count=$n go env":     "nobody",
		"GOFLAGS= go env":              "nobody",
		"go vet ./...":                 "nobody",
		"go version -m bin":            "nobody",
		"go":                           "nobody",
	} {
		for who, set := range map[string]func(m *shell.Machine){
			"all":      func(*shell.Machine) {},
			"ranged":   func(m *shell.Machine) { m.Vars = []string{"GOTOOLCHAIN=go1.24.0+auto"} },
			"chosen":   func(m *shell.Machine) { m.Vars = []string{"GOTOOLCHAIN=local"} },
			"observed": func(m *shell.Machine) { m.Observed = true },
		} {
			m := p.machine()
			set(&m)
			_, why := shell.Reading(t.Context(), m, shell.Parse(script, shell.Place{Dir: p.dir}).Commands[0])
			runs := want == who || want == "chosen" && who == "observed"
			if (why == "") != runs {
				t.Errorf("%s, %s: %q", script, who, why)
			}
			if why != "" && !strings.HasPrefix(why, "go ") && !strings.Contains(why, "GOFLAGS") {
				t.Errorf("%s: %q", script, why)
			}
		}
	}
}
