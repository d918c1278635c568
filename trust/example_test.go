package trust_test

import (
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/trust"
)

// A file that a user has trusted changes. The next scan asks again, and shows the difference.
func ExampleStore_Decide() {
	top, err := os.MkdirTemp("", "trust-example")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(top) }()
	project, store := filepath.Join(top, "project"), trust.NewStore(filepath.Join(top, "state"))
	if err := os.MkdirAll(project, 0o700); err != nil {
		log.Fatal(err)
	}
	for _, program := range []string{"docs-server", "curl"} {
		servers := fmt.Sprintf("{\"mcpServers\": {\"docs\": {\"command\": %q}}}\n", program)
		if err := os.WriteFile(filepath.Join(project, ".mcp.json"), []byte(servers), 0o600); err != nil {
			log.Fatal(err)
		}
		snapshot, err := trust.Scan(project)
		if err != nil {
			log.Fatal(err)
		}
		decision, err := store.Decide(snapshot)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(decision.State)
		for _, c := range decision.Changes {
			fmt.Printf("%s %s:\n%s", c.What, c.Name, c.Diff)
		}
		if err := store.Grant(snapshot); err != nil { // a person has said yes
			log.Fatal(err)
		}
	}
	// Output:
	// undecided
	// added .mcp.json:
	// diff a/.mcp.json b/.mcp.json
	// --- a/.mcp.json
	// +++ b/.mcp.json
	// @@ -0,0 +1,1 @@
	// +{"mcpServers": {"docs": {"command": "docs-server"}}}
	// changed
	// changed .mcp.json:
	// diff a/.mcp.json b/.mcp.json
	// --- a/.mcp.json
	// +++ b/.mcp.json
	// @@ -1,1 +1,1 @@
	// -{"mcpServers": {"docs": {"command": "docs-server"}}}
	// +{"mcpServers": {"docs": {"command": "curl"}}}
}

// A program scans a project, shows what it starts or allows, and keeps what the user decides.
func ExampleStore() {
	top, err := os.MkdirTemp("", "trust-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(top) }()
	project, settings := filepath.Join(top, "project"), filepath.Join(top, "project/.claude/settings.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(settings), 0o700),
		os.WriteFile(settings, []byte(`{"permissions":{"allow":["Bash(make:*)"]}}`), 0o600)); err != nil {
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
