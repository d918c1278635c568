package lsp

import (
	"encoding/json"
	"path"
)

// Server describes a language server.
type Server struct {
	Name string
	// Command is a program of the environment's PATH. A server that is not installed there is not
	// used.
	Command string
	Args    []string
	Dir     string // the directory it starts in; empty means the workspace
	// Languages has the protocol's name of the language for each ending of a file's name, such as
	// ".go": "go".
	Languages map[string]string
	Env       map[string]string
	// Initialization is sent with the first request. Settings answer the server's questions about
	// its configuration, by section.
	Initialization, Settings json.RawMessage
	Origin                   Origin
	File                     string // that the server was configured in
	// RunsProject reports that the server runs programs that a project brings, such as build
	// scripts.
	RunsProject bool
	// Optional means that nobody is told if the program is not installed.
	Optional bool
	// Refused says why the server must not be started, or is empty. The host is told when a call
	// edits a file of its kind.
	Refused string
	// Disabled means that there is no server with this name.
	Disabled bool
}

// Origin says who has configured a server.
type Origin uint8

// The origins.
const (
	Builtin Origin = iota
	User
	Project
)

// Defaults returns the servers that need no configuration.
func Defaults() []Server {
	list := []Server{
		{Name: "gopls", Command: "gopls", Languages: map[string]string{".go": "go"},
			// Diagnostics that nobody waits for are not computed.
			Initialization: json.RawMessage(`{"pullDiagnostics":true,"diagnosticsTrigger":"Save"}`)},
		// the project's own compiler
		{Name: "typescript", Command: "typescript-language-server", Args: []string{"--stdio"}, RunsProject: true,
			Languages: map[string]string{".ts": "typescript", ".mts": "typescript", ".cts": "typescript",
				".tsx": "typescriptreact",
				".js":  "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact"}},
		{Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"},
			Languages: map[string]string{".py": "python", ".pyi": "python"}},
		{Name: "rust-analyzer", Command: "rust-analyzer", RunsProject: true, // build scripts and macros
			Languages: map[string]string{".rs": "rust"}},
		{Name: "clangd", Command: "clangd", Languages: map[string]string{".c": "c", ".h": "c", ".cc": "cpp",
			".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp"}},
	}
	for i := range list {
		list[i].Optional = true
	}
	return list
}

// runsProject reports whether a server with a command may run programs that a project brings. It
// assumes so for commands that it does not know.
func runsProject(command string) bool {
	for _, s := range Defaults() {
		if s.Command == path.Base(command) {
			return s.RunsProject
		}
	}
	return true
}
