package search_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/search"
)

// project is an environment of the examples; an env.Local or a remote.Env is searched the same way.
func project() *envtest.Memory {
	return envtest.NewMemory(map[string]string{
		".gitignore":   "*.log\n",
		"main.go":      "package main\n\nfunc main() {\n\tserve(8080)\n}\n",
		"net/serve.go": "package net\n\n// serve listens.\nfunc serve(port int) {}\n",
		"debug.log":    "serve(8080)\n",
	})
}

// Grep finds lines, with the line before each.
func ExampleGrep() {
	found, err := search.Grep(context.Background(), project(), search.Query{Pattern: `\bserve\(`, Before: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range found.Files {
		for _, line := range file.Lines {
			fmt.Printf("%s:%d:%v: %s\n", file.Path, line.Number, line.Match, line.Text)
		}
	}
	fmt.Println(found.Searched, "files searched")
	// Output:
	// main.go:3:false: func main() {
	// main.go:4:true: 	serve(8080)
	// net/serve.go:3:false: // serve listens.
	// net/serve.go:4:true: func serve(port int) {}
	// 3 files searched
}

// Counts needs no lines. A glob with a ! in front leaves files out.
func ExampleQuery() {
	found, err := search.Grep(context.Background(), project(),
		search.Query{Pattern: "SERVE", IgnoreCase: true, Glob: "!main.go", Mode: search.Counts})
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range found.Files {
		fmt.Println(file.Path, file.Count)
	}
	// Output:
	// net/serve.go 2
}

// Glob lists files, the newest first. What .gitignore files exclude is not among them.
func ExampleGlob() {
	found, err := search.Glob(context.Background(), project(), "**/*.{go,log}", "")
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range found.Files {
		fmt.Println(file.Path, file.Size)
	}
	// Unordered output:
	// net/serve.go 55
	// main.go 43
}
