package lsp_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/lsp"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A session whose edits are checked by a language server. A program would use lsp.Defaults; the
// server here is this test, to which each line with BAD in it is an error.
func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "lsp-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("edit_file", map[string]string{"file_path": "a.txt", "old_string": "two",
			"new_string": "BAD"})), llmtest.Text("Oh."))
	options := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You edit.",
			Tools: []tool.Tool{coding.EditFile()}},
		Env: local,
		OnEvent: func(event agent.Event) {
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Println(e.Output)
			}
		},
	}
	servers := lsp.New(lsp.Options{Env: local, Wait: time.Minute, Servers: []lsp.Server{{
		Name: "text", Command: os.Args[0], Env: map[string]string{"LSP_ROLE": "push"},
		Languages: map[string]string{".txt": "plaintext"}}}})
	options.Middleware = append(options.Middleware, servers.Middleware)
	options.Closers = append(options.Closers, servers)

	session, err := agent.New(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Submit(ctx, "Change the second line."); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Edited a.txt: replaced 1 occurrence (line 2). It now reads:
	//   1 | one
	//   2 | BAD
	// [New problems after this change, reported by text:]
	// a.txt:2:1: error: BAD
}

// A user's file adds a server and turns one of the built-in ones off.
func ExampleMerge() {
	mine, problems := lsp.Parse("lsp.json", []byte(`{
		"zig":        {"command": "zls", "extensionToLanguage": {".zig": "zig"}},
		"typescript": {"disabled": true}
	}`), lsp.User)
	for _, p := range problems {
		log.Print(p)
	}
	servers, _ := lsp.Merge(mine, lsp.Defaults())
	for _, s := range servers {
		fmt.Println(s.Name, s.Command)
	}
	// Output:
	// zig zls
	// gopls gopls
	// pyright pyright-langserver
	// rust-analyzer rust-analyzer
	// clangd clangd
}
