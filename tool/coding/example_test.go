package coding_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// The tools of a session are chosen one by one. A registry runs a call as a session does, and
// returns what the model reads.
func Example() {
	ctx := context.Background()
	registry, err := tool.NewRegistry(coding.ReadFile(), coding.EditFile(), coding.Grep(), coding.Shell(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello,\nwrold!\n"})
	for _, call := range []llm.ToolCall{
		{ID: "1", Name: "grep", Args: `{"pattern":"wrold"}`},
		{ID: "2", Name: "edit_file", Args: `{"file_path":"greet.txt","old_string":"wrld","new_string":"world"}`},
		{ID: "3", Name: "edit_file", Args: `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`},
	} {
		o := registry.Run(ctx, call, tool.Call{Env: files}, nil)
		fmt.Println(o.Model.Text())
		for _, change := range o.Changes {
			fmt.Println("changed:", change.Kind, change.Path)
		}
	}
	// Output:
	// greet.txt:2:wrold!
	// [1 matching line in 1 file]
	//
	// Error: old_string was not found in greet.txt; nothing was changed. Nothing in the file is similar. Read the file, and copy the text from there.
	// Edited greet.txt: replaced 1 occurrence (line 2). It now reads:
	//   1 | Hello,
	//   2 | world!
	//
	// changed: modified /work/greet.txt
}

// A program gets what a command did as data beside the text for the model.
func ExampleShell() {
	local, err := env.NewLocal(".", env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	registry, err := tool.NewRegistry(coding.Shell(10 * time.Second))
	if err != nil {
		log.Fatal(err)
	}
	call := llm.ToolCall{ID: "1", Name: "shell", Args: `{"command":"echo one; echo two >&2; exit 3"}`}
	o := registry.Run(context.Background(), call, tool.Call{Env: local}, nil)
	fmt.Println(o.Model.Text())
	fmt.Println("error:", o.IsError, "exit code:", o.Ran.Exit.Code)
	// Output:
	// one
	// two
	// Exit code: 3
	// error: true exit code: 3
}

// Patch applies a patch in the v4a format to the files of an environment, completely or not at all.
func ExamplePatch() {
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"})
	changes, err := coding.Patch(context.Background(), files, `*** Begin Patch
*** Update File: greet.txt
@@
-Hello, wrold!
+Hello, world!
*** Add File: bye.txt
+Bye!
*** End Patch`)
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range changes {
		fmt.Println(change)
	}
	fmt.Print(files.Files()["greet.txt"])
	// Output:
	// M greet.txt
	// A bye.txt
	// Hello, world!
}

// A dialect has other names for tools and parameters. Results use these, and tool.Adapt makes the
// tool that has them.
func ExampleDialect() {
	type find struct {
		Pattern string `json:"pattern"`
		Dir     string `json:"dir,omitempty"`
	}
	d := coding.Dialect{Words: map[string]string{"glob": "find", "glob.path": "dir"}}
	tools, err := tool.NewRegistry(tool.Adapt(d.Glob(), llm.ToolDefinition{Name: "find", Description: "Finds files."},
		func(args find) (any, error) { return map[string]any{"pattern": args.Pattern, "path": args.Dir}, nil }, nil))
	if err != nil {
		log.Fatal(err)
	}
	files := envtest.NewMemory(map[string]string{"main.go": "package main\n"})
	for _, args := range []string{`{"pattern":"*.go","dir":"src"}`, `{"pattern":"*.go"}`} {
		call := llm.ToolCall{ID: "1", Name: "find", Args: args}
		fmt.Println(tools.Run(context.Background(), call, tool.Call{Env: files}, nil).Model.Text())
	}
	// Output:
	// Error: the directory src does not exist; give an existing one as dir, or leave it out to look in the working directory
	// main.go
}
