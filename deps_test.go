package attractor_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/attractor-go/attractor/"

// allowed is the dependency rule: what each package may import, beside the standard library. /... stands for a whole tree.
var allowed = map[string][]string{
	"":                    {},
	"internal/names":      {},
	"internal/orphans":    {"golang.org/x/sys/..."},
	"llm":                 {},
	"llm/internal/sse":    {},
	"llm/internal/api":    {"llm", "llm/internal/sse"},
	"llm/anthropic":       {"llm", "llm/internal/..."},
	"llm/fakellm":         {"llm"},
	"llm/fakellm/serve":   {"llm/fakellm"},
	"llm/llmtest":         {"llm", "llm/fakellm", "github.com/google/go-cmp/cmp", "golang.org/x/tools/txtar"},
	"llm/openai":          {"llm", "llm/internal/..."},
	"llm/gemini":          {"llm", "llm/internal/..."},
	"llm/openaichat":      {"llm", "llm/internal/..."},
	"llm/providers":       {"llm/..."},
	"llm/catalog":         {"llm"},
	"llm/generate":        {"llm", "github.com/google/jsonschema-go/jsonschema"},
	"env":                 {"internal/guard", "internal/names", "golang.org/x/sys/..."},
	"env/envtest":         {"env"},
	"internal/guard":      {},
	"search":              {"env", "internal/guard", "internal/names", "github.com/bmatcuk/doublestar/v4"},
	"tool":                {"internal/names", "llm", "env", "internal/guard", "github.com/google/jsonschema-go/jsonschema"},
	"tool/coding":         {"internal/names", "llm", "tool", "env", "search", "patch", "github.com/rogpeppe/go-internal/diff"},
	"profile":             {"tool", "llm"},
	"profile/anthropic":   {"env", "llm", "profile", "tool", "tool/coding"},
	"profile/gemini":      {"internal/names", "llm", "env", "profile", "search", "tool", "tool/coding"},
	"profile/openai":      {"llm", "profile", "tool", "tool/coding"},
	"patch":               {"internal/names"},
	"journal":             {"golang.org/x/sys/..."},
	"journal/journaltest": {"journal", "github.com/google/go-cmp/cmp", "pgregory.net/rapid"},
	"internal/git":        {"env", "search"},
	"agent":               {"internal/git", "internal/guard", "llm", "env", "tool", "profile", "journal", "github.com/google/uuid", "github.com/google/jsonschema-go/jsonschema"},
	"cmd/attractor":       {"agent", "env", "internal/git", "journal", "llm/...", "profile/...", "tool/...", "github.com/google/uuid", "github.com/spf13/cobra", "golang.org/x/term"},

	"internal/peer": {}, // of tests

	"examples/remoteenv": {"env"},
}

// TestDependencyRule keeps the arrows of DESIGN.md: they point one way, and a new package has to be put on the map.
func TestDependencyRule(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var pkg struct {
			Dir, ImportPath string
			Imports         []string
		}
		if err := dec.Decode(&pkg); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(pkg.ImportPath, strings.TrimSuffix(module, "/")), "/")
		rules, ok := allowed[name]
		if !ok {
			t.Errorf("package %s is not on the map: say here what it may import", name)
			continue
		}
		if _, err := os.Stat(filepath.Join(pkg.Dir, "doc.go")); err != nil {
			t.Errorf("package %s does not say what it is: %v", name, err)
		}
		for _, imp := range pkg.Imports {
			if !standard(imp) && !matchAny(rules, strings.TrimPrefix(imp, module)) {
				t.Errorf("%s imports %s, which the dependency rule forbids", name, imp)
			}
		}
	}
}

func standard(imp string) bool { return !strings.Contains(strings.Split(imp, "/")[0], ".") }

func matchAny(rules []string, imp string) bool {
	for _, rule := range rules {
		tree, isTree := strings.CutSuffix(rule, "...")
		if rule == imp || isTree && strings.HasPrefix(imp+"/", tree) {
			return true
		}
	}
	return false
}
