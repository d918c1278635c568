package shell_test

import (
	"context"
	"fmt"

	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/rules/shell"
)

// Which commands a script may run, also those in substitutions and behind wrappers.
func ExampleParse() {
	script := shell.Parse(`cd web && timeout 60 npm test | tee "$(git rev-parse HEAD).log"`, shell.Place{Dir: "/work"})
	for _, c := range script.Commands {
		fmt.Printf("%s: %q\n", c.Dir, c.Words)
		if c.Unclear != "" {
			fmt.Println("  which is unclear:", c.Unclear)
		}
	}
	// Output:
	// /work: ["cd" "web"]
	// /work/web: ["timeout" "60" "npm" "test"]
	// /work/web: ["npm" "test"]
	// /work/web: ["tee" "\"$(git rev-parse HEAD).log\""]
	//   which is unclear: it has a command substitution
	// /work/web: ["git" "rev-parse" "HEAD"]
}

// Which commands only read, and what. Nothing is run.
func ExampleReading() {
	machine := shell.Machine{Env: envtest.NewMemory(map[string]string{"main.go": "package main\n"}), Home: "/home/me"}
	for _, text := range []string{"head -n 5 main.go", "find . -name '*.go'", "find . -delete",
		"sed -i s/a/b/ main.go"} {
		for _, c := range shell.Parse(text, shell.Place{Dir: "/work", Home: "/home/me"}).Commands {
			files, why := shell.Reading(context.Background(), machine, c)
			if why == "" {
				why = "it reads " + files[0].Path
			}
			fmt.Printf("%s: %s\n", text, why)
		}
	}
	// Output:
	// head -n 5 main.go: it reads /work/main.go
	// find . -name '*.go': it reads /work
	// find . -delete: find may do more than read with -delete
	// sed -i s/a/b/ main.go: sed may do more than read with -i
}
