package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/trust"
)

// A program scans a project, shows what it starts or allows, and keeps what the user decides.
func ExampleStore() {
	top, err := os.MkdirTemp("", "trust-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(top) }()
	project, settings := filepath.Join(top, "project"), filepath.Join(top, "project/.claude/settings.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o700), os.WriteFile(settings, []byte(`{"permissions":{"allow":["Bash(make:*)"]}}`), 0o600)); err != nil {
		fmt.Println(err)
		return
	}
	store := trust.NewStore(filepath.Join(top, "state")) // a directory of the user's, outside of all projects
	for range 2 {
		snapshot, err := trust.Scan(project)
		if err != nil {
			fmt.Println(err)
			return
		}
		decision, err := store.Decide(snapshot)
		fmt.Println(decision.State, snapshot.Effects(), err)
		if decision.State != trust.Trusted {
			fmt.Println(store.Grant(snapshot))
		}
	}
	// Output:
	// undecided [{.claude/settings.json allows Bash(make:*)}] <nil>
	// <nil>
	// trusted [{.claude/settings.json allows Bash(make:*)}] <nil>
}
