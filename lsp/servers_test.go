package lsp_test

import (
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/lsp"
)

const (
	goMod  = "module example.org/m\n\ngo 1.25\n"
	goFile = "package m\n\n// F adds one.\nfunc F(a int) int { return a + 1 }\n\nvar old = missing\n"
	caller = "package m\n\nvar used = F(1)\n"
)

func gopls(t testing.TB, files ...string) *workspace {
	t.Helper()
	peer.Need(t, "gopls")
	peer.Need(t, "go")
	return newWorkspace(t, lsp.Options{Servers: []lsp.Server{builtin(t, "gopls")}}, files...)
}

// An edit that breaks a caller in another file of the package tells that. What was wrong before is
// not told, also where it moves.
func TestM11_GoplsAddedDiagnostics(t *testing.T) {
	w := gopls(t, "go.mod", goMod, "a.go", goFile, "b.go", caller)
	w.want(w.edit("a.go", "// F adds one.", "// F adds one\n// to a number.")) // the old error moves
	w.want(w.edit("a.go", "(a int)", "(a, b int)"), "b.go:3:15: error: not enough arguments in call to F", "no missing",
		"no a.go")
	w.want(w.edit("a.go", "a + 1", "a + nothing"), "a.go:5:35: error: undefined: nothing", "no missing", "no b.go")
	w.want(w.edit("b.go", "F(1)", "F(1, 2)"))
	w.want(w.edit("a.go", "nothing", "1"))
	w.want(w.edit("a.go", "(a, b int)", "(a int)"), "b.go:3:17: error: too many arguments in call to F")
}

// The first edit of a session tells what it breaks, although the server starts after it and finds
// the new content on the disk.
func TestM11_GoplsFirstEdit(t *testing.T) {
	w := gopls(t, "go.mod", goMod, "a.go", goFile, "b.go", caller)
	w.want(w.edit("a.go", "(a int)", "(a, b int)"), "b.go:3:15: error: not enough arguments in call to F", "no missing",
		"no a.go")
}

// A file that is created has only new problems, and so has what it breaks; files that are moved
// take theirs along.
func TestM11_GoplsCreatedAndMoved(t *testing.T) {
	t.Parallel()
	w := gopls(t, "go.mod", goMod, "a.go", goFile, "b.go", caller)
	w.want(w.write("b.go", caller+"\nvar more = F(2)\n"))
	w.want(w.write("c.go", "package m\n\nfunc F() {}\n\nvar c = alsoMissing\n"),
		"c.go:5:9: error: undefined: alsoMissing", "F redeclared", "no undefined: missing")
	moved := "*** Begin Patch\n*** Update File: a.go\n*** Move to: d.go\n@@\n-var old = missing\n+var old = missing " +
		"+ fresh\n*** End Patch\n"
	w.want(problems(w.call("apply_patch", map[string]any{"patch": moved})), "d.go:6:21: error: undefined: fresh",
		"no missing")
}

// A change that nobody told the servers of is the old state, not what the next edit has added.
func TestM11_GoplsChangesBesides(t *testing.T) {
	t.Parallel()
	w := gopls(t, "go.mod", goMod, "a.go", goFile, "b.go", caller, "sub/x.go", "package sub\n\nvar X = 1\n", "sub/y.go",
		"package sub\n\nvar Y = X\n")
	w.want(w.edit("a.go", "adds one", "adds 1"))
	w.call("shell", map[string]any{"command": "printf 'package m\\n\\nvar used = F(1, 2, 3)\\n' >b.go; printf " +
		"'package sub\\n\\nvar X2 = 1\\n' >sub/x.go"})
	w.want(w.edit("a.go", "adds 1", "adds one"))
	w.want(w.edit("sub/y.go", "package sub", "package sub // is broken"))
	w.put("b.go", "package m\n\nvar used = F(1, 2, 3) + absent\n")
	w.want(w.edit("a.go", "a + 1", "a + unknown"), "a.go:4:32: error: undefined: unknown", "no absent", "no too many")
}

// What a command has written in another package can be used by the next edit.
func TestM11_GoplsChangesElsewhere(t *testing.T) {
	w := gopls(t, "go.mod", goMod, "a.go", "package m\n\nimport \"example.org/m/sub\"\n\nvar A = sub.X\n", "sub/x.go",
		"package sub\n\nvar X = 1\n")
	w.want(w.edit("a.go", "var A", "var B"))
	w.call("shell", map[string]any{"command": "printf '\nvar Y = 2\n' >>sub/x.go"})
	w.want(w.edit("a.go", "sub.X", "sub.X + sub.Y"))
	w.want(w.edit("a.go", "sub.Y", "sub.Z"), "a.go:5:21: error: undefined: sub.Z")
}

// typescript-language-server tells the same.
func TestM11_TypeScriptAddedDiagnostics(t *testing.T) {
	t.Parallel()
	peer.Need(t, "typescript-language-server")
	w := newWorkspace(t, lsp.Options{Servers: []lsp.Server{builtin(t, "typescript")}},
		"tsconfig.json", `{"compilerOptions":{"strict":true,"types":[],"lib":["es2022"]}}`,
		"a.ts", "export function f(a: number): number { return a }\nconst old: string = 1\n",
		"b.ts", "import { f } from './a'\nexport const x = f(1)\n")
	w.want(w.edit("a.ts", "const old", "\nconst old"))
	w.want(w.edit("a.ts", "(a: number)", "(a: number, b: number)"),
		"b.ts:2:18: error: Expected 2 arguments, but got 1.", "no string")
	w.want(w.edit("b.ts", "f(1)", "f(1, 2"), "b.ts:2:25: error: ')' expected", "no a.ts")
	w.want(w.edit("b.ts", "f(1, 2", "f(1, 2)"))
}

// What a command writes into a file that was edited before is what the next edit is checked with.
func TestM11_GoplsChangedDocuments(t *testing.T) {
	t.Parallel()
	w := gopls(t, "go.mod", goMod, "a.go", goFile, "b.go", caller)
	w.want(w.edit("a.go", "adds one", "adds 1"))
	w.call("shell", map[string]any{"command": "sed 's/(a int)/(a, b int)/' a.go >new && mv new a.go"})
	w.want(w.edit("b.go", "F(1)", "F(1, 2)"))
	w.want(w.edit("b.go", "F(1, 2)", "F(1, 2, 3)"), "b.go:3:20: error: too many arguments in call to F")
	w.call("shell", map[string]any{"command": "mv a.go c.go"})
	w.want(w.edit("b.go", "F(1, 2, 3)", "F(1, 2)"))
}
