package seed_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// draws returns what a property and a generator draw.
func draws(t *testing.T) string {
	var all []any
	seed.Check(t, func(t *rapid.T) { all = append(all, rapid.Uint32().Draw(t, "number")) })
	dice := seed.New(t)
	return fmt.Sprint(len(all), all, dice.Uint32(), dice.Uint32())
}

// drawsVar makes TestDraws print what it draws.
const drawsVar = "SEED_TEST_DRAWS"

// TestDraws is what other processes run.
func TestDraws(t *testing.T) {
	if os.Getenv(drawsVar) == "" {
		t.Skip("it is a part of another test")
	}
	for range 2 {
		fmt.Println("draws", draws(t))
	}
}

// inAnotherProcess returns what two rounds of another process draw.
func inAnotherProcess(t *testing.T, variable, arg string) (first, second string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDraws$", arg)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "RAPID_") }),
		drawsVar+"=1", variable)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^draws .*$`).FindAllString(string(out), -1)
	if len(lines) != 2 {
		t.Fatalf("the other process says %s", out)
	}
	return lines[0], lines[1]
}

// Each run draws the same, and another seed draws something else, the same again and again.
func TestS1_SameDraws(t *testing.T) {
	seen := map[string]string{}
	for name, choice := range map[string][2]string{"none": {"RAPID_V=false", "-rapid.v=false"},
		"zero":       {"RAPID_SEED=0", "-rapid.v=false"},
		"a variable": {"RAPID_SEED=12345", "-rapid.checks=100"}, "a flag": {"RAPID_SEED=7", "-rapid.seed=12345"}} {
		first, second := inAnotherProcess(t, choice[0], choice[1])
		again, _ := inAnotherProcess(t, choice[0], choice[1])
		if first != second || first != again || !strings.HasPrefix(first, "draws 100 [") {
			t.Errorf("%s: two rounds and a third in another process draw\n%s\n%s\n%s", name, first, second, again)
		}
		seen[name] = first
	}
	if seen["none"] != seen["zero"] || seen["a variable"] != seen["a flag"] || seen["none"] == seen["a flag"] {
		t.Errorf("%q", seen)
	}
}

// ofTheProcess lists the files that take random numbers from the process, for names alone.
var ofTheProcess = []string{"agent/subagents_unix_test.go", "internal/cli/tmux_linux_test.go"}

// sources are the functions of math/rand and math/rand/v2 that take a seed or a generator.
var sources = regexp.MustCompile(`^(New|NewPCG|NewChaCha8|NewZipf|NewSource|Rand|PCG|ChaCha8|Zipf|Source|Source64)$`)

// No test takes a seed or numbers from anywhere else.
func TestS1_NoOtherSeeds(t *testing.T) {
	var names []string
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 500 {
		t.Errorf("there are only %d files", len(names))
	}
	for _, name := range names {
		uses, err := unseeded(name)
		if err != nil {
			t.Error(err)
		}
		name, err := filepath.Rel(root, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(uses) > 0 && !slices.Contains(ofTheProcess, filepath.ToSlash(name)) {
			t.Errorf("%s uses %s: take seed.Check and seed.New", name, strings.Join(uses, ", "))
		}
	}
}

// unseeded returns the names of functions in a file whose random numbers differ from run to run.
func unseeded(name string) (uses []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	imported := map[string]string{}
	for _, s := range file.Imports {
		path := strings.Trim(s.Path.Value, `"`)
		local := strings.TrimSuffix(path, "/v2")
		local = local[strings.LastIndex(local, "/")+1:]
		if s.Name != nil {
			local = s.Name.Name
		}
		imported[local] = path
	}
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := s.X.(*ast.Ident)
		if !ok {
			return true
		}
		switch imported[x.Name] {
		case "math/rand", "math/rand/v2":
			if !sources.MatchString(s.Sel.Name) {
				uses = append(uses, x.Name+"."+s.Sel.Name)
			}
		case "pgregory.net/rapid":
			if strings.HasSuffix(s.Sel.Name, "Check") {
				uses = append(uses, x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return uses, nil
}
