package command

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/refdocs"
)

var update = flag.Bool("update", false, "rewrite docs/reference/commands-fleet.md")

// docs/reference/commands-fleet.md has every command with its flags.
func TestQ4_FleetCommands(t *testing.T) {
	p := &program{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	page := refdocs.Commands("Commands of attractor-fleet", `What `+"`attractor-fleet COMMAND --help`"+
		` prints, for every command. `+"`attractor fleet`"+` runs the same program. A flag that several
commands have is described once. [fleet/README.md](../../fleet/README.md) says how they are used together.`, p.root(),
		"attractor-fleet batch")
	refdocs.Page(t, "../../../docs/reference/commands-fleet.md",
		"(cd fleet && go test ./internal/command -run Q4_FleetCommands -update)", page, *update)
}
