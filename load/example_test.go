package load_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/load"
)

// What a project brings does not count before its user has trusted it.
func ExampleReadProject() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	servers := []byte(`{"mcpServers": {"builds": {"command": "make", "args": ["serve"]}}}`)
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), servers, 0o600); err != nil {
		panic(err)
	}
	getenv := func(name string) string { return map[string]string{"HOME": dir}[name] }
	project, err := load.ReadProject(dir, getenv, false)
	if err != nil {
		panic(err)
	}
	found, err := load.ReadServers(load.ServerOptions{Dir: dir, Project: project, Getenv: getenv})
	fmt.Println(len(found.List), found.Untrusted, found.Why, err)
	// Output: 0 [builds] the project is not trusted <nil>
}
