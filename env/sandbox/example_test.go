package sandbox_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
)

// Commands reach a few hosts of the network. Where the level does not work, this program runs no
// commands at all.
func ExampleNew() {
	box, err := sandbox.New(".", sandbox.Options{Level: sandbox.Workspace,
		AllowHosts: []string{"proxy.golang.org", "*.example.com"}})
	if errors.Is(err, errors.ErrUnsupported) {
		log.Fatalf("no sandbox on this machine: %v", err)
	} else if err != nil {
		log.Fatal(err)
	}
	defer box.Close()
	local, err := env.NewLocal(".", box.Confine(env.LocalOptions{}))
	if err != nil {
		log.Print(err)
		return
	}
	defer local.Close() // before the sandbox
}

// A user has chosen a level by its name.
func ExampleParseLevel() {
	for _, name := range []string{"read-only", "", "strict"} {
		level, err := sandbox.ParseLevel(name)
		fmt.Println(level, err)
	}
	// Output:
	// read-only <nil>
	// off <nil>
	// off there is no sandbox level "strict"; the levels are off, read-only, workspace, workspace-weak
}
