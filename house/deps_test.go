package house_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "github.com/attractor-go/attractor"
	module = root + "/"
)

// allowed holds the dependency rule: the packages that each package may import, in addition to the
// standard library. /... stands for a whole tree.
var allowed = map[string][]string{
	"internal/fault":     {},
	"internal/endless":   {},
	"internal/filelock":  {"golang.org/x/sys/..."},
	"internal/fuzzy":     {"internal/texts"},
	"internal/lookpath":  {},
	"internal/stdioproc": {"env", "internal/texts"},
	"internal/refdocs":   {"github.com/spf13/cobra", "github.com/spf13/pflag"}, // for tests
	"internal/texts":     {"sanitize", "golang.org/x/text/unicode/norm"},
	"internal/parallel":  {},
	"internal/script":    {"internal/shquote", "sanitize", "mvdan.cc/sh/v3/syntax"},
	"internal/shquote":   {},
	"internal/textfile":  {"internal/shquote"},
	"internal/encoded":   {"internal/picture"},
	"internal/picture":   {"llm", "golang.org/x/image/..."},
	"internal/pieces":    {},
	"internal/orphans":   {"golang.org/x/sys/..."},
	"llm":                {},
	"llm/internal/sse":   {},
	"llm/internal/api":   {"internal/pieces", "internal/proxied", "llm", "llm/internal/sse", "tracecontext"},
	"llm/anthropic":      {"llm", "llm/internal/..."},
	"llm/fakellm":        {"llm"},
	"llm/fakellm/serve":  {"llm/fakellm"},
	"llm/llmtest":        {"llm"},
	"llm/providertest": {"llm", "llm/fakellm", "llm/llmtest", "github.com/google/go-cmp/cmp", "go.yaml.in/yaml/v3",
		"golang.org/x/tools/txtar"},
	"llm/openai":     {"llm", "llm/internal/..."},
	"llm/gemini":     {"llm", "llm/internal/..."},
	"llm/openaichat": {"llm", "llm/internal/..."},
	"llm/providers":  {"llm/..."},
	"llm/catalog":    {"llm"},
	"llm/generate":   {"llm", "github.com/google/jsonschema-go/jsonschema"},
	"env": {"env/capture", "internal/contain", "internal/filelock", "internal/guard", "internal/lookpath",
		"internal/texts", "golang.org/x/sys/..."},
	"env/capture":       {},
	"env/envtest":       {"env"},
	"internal/contain":  {"internal/filelock", "internal/lookpath", "golang.org/x/sys/..."},
	"internal/guard":    {},
	"internal/netguard": {"golang.org/x/net/idna"},
	"internal/webguard": {},
	"internal/proxy":    {"internal/netguard"},
	"internal/proxied":  {},
	"sanitize":          {},
	"tracecontext":      {},
	"internal/regex":    {},
	"search": {"env", "internal/guard", "internal/regex", "internal/texts", "github.com/bmatcuk/doublestar/v4",
		"golang.org/x/text/unicode/norm"},
	"tool": {"internal/encoded", "internal/picture", "sanitize", "internal/texts", "llm", "llm/generate",
		"env", "env/capture", "internal/guard", "tracecontext", "github.com/google/jsonschema-go/jsonschema",
		"golang.org/x/sync/semaphore"},
	"tool/coding": {"internal/encoded", "internal/picture", "sanitize", "internal/fuzzy", "internal/regex",
		"internal/texts", "internal/textfile", "llm", "tool", "env", "search", "patch", "tracecontext",
		"github.com/rogpeppe/go-internal/diff"},
	"tool/webfetch": {"internal/guard", "internal/netguard", "llm", "tool",
		"github.com/JohannesKaufmann/html-to-markdown/v2/...", "golang.org/x/net/html/..."},
	"profile":           {"tool", "llm"},
	"profile/anthropic": {"env", "llm", "profile", "tool", "tool/coding"},
	"profile/gemini": {"sanitize", "internal/regex", "internal/texts", "llm", "env", "env/capture", "profile", "search",
		"tool", "tool/coding"},
	"profile/openai":        {"env", "internal/shquote", "llm", "patch", "profile", "tool", "tool/coding"},
	"profile/profiles":      {"profile", "profile/anthropic", "profile/gemini", "profile/openai"},
	"internal/version":      {},
	"internal/landlock":     {"golang.org/x/sys/..."},
	"internal/atomicfile":   {},
	"internal/userfiles":    {},
	"patch":                 {"internal/fuzzy", "internal/texts", "internal/textfile"},
	"journal":               {"internal/atomicfile", "internal/filelock", "golang.org/x/sys/..."},
	"journal/journaltest":   {"journal", "github.com/google/go-cmp/cmp", "pgregory.net/rapid"},
	"internal/git":          {"env", "internal/shquote", "internal/userfiles"},
	"instructions":          {"env", "internal/git", "sanitize", "search", "tool", "github.com/bmatcuk/doublestar/v4"},
	"internal/conversation": {"internal/picture", "llm"},
	"internal/objectschema": {"github.com/google/jsonschema-go/jsonschema"},
	"internal/systemprompt": {"env", "instructions", "internal/git", "internal/texts", "sanitize", "tool"},
	"agent": {"internal/conversation", "internal/objectschema", "internal/picture", "internal/systemprompt",
		"instructions", "sanitize", "internal/guard", "internal/pieces", "llm", "env", "env/capture", "tool",
		"profile", "journal", "github.com/google/uuid"},
	"cmd/attractor": {"command"},
	"command":       {root, "internal/cli"},
	"internal/cli": {"acp", "check", "checkpoint", "sanitize", "secret/...", "agent", "env", "env/remote/...",
		"env/sandbox", "ext/hooks", "instructions", "internal/atomicfile", "internal/chat", "internal/debuglog",
		"internal/lookpath", root, "internal/objectschema", "internal/texts", "internal/protocol", "internal/render",
		"internal/settings", "internal/shquote", "internal/tty",
		"internal/userfiles", "internal/version", "journal", "load", "sessions/...", "undo", "worktree", "llm/...",
		"mcp", "permit",
		"profile/...", "rules", "server", "internal/webguard", "tool/...", "trust", "web", "github.com/spf13/cobra",
		"github.com/spf13/pflag", "golang.org/x/sys/...", "golang.org/x/term"},

	// internal/record makes the recording in the README.
	"internal/record": {"llm/fakellm", "github.com/google/go-cmp/cmp", "internal/peer"},

	"internal/peer":        {},                                                                     // for tests
	"internal/await":       {},                                                                     // for tests
	"internal/longsession": {"agent", "env", "journal", "llm", "profile", "tool"},                  // for tests
	"internal/seed":        {"pgregory.net/rapid"},                                                 // for tests
	"internal/soak":        {"agent", "internal/orphans", "journal", "llm", "llm/fakellm", "tool"}, // for tests
	"internal/doors":       {},                                                                     // has only tests
	"internal/mcptest":     {},                                                                     // has only tests
	"internal/loopdns":     {"golang.org/x/net/dns/dnsmessage"},                                    // for tests
	"internal/authserver":  {},                                                                     // for tests

	"examples/jsonclient/go": {},
}

// rooms holds the packages that use the doors of agent and of the packages below it. None of those
// imports a room.
var rooms = map[string][]string{
	"rules":       {"env", "internal/texts", "llm", "search", "tool", "rules/shell"},
	"permit":      {"env", "internal/texts", "llm", "rules", "tool"},
	"rules/shell": {"env", "internal/git", "internal/script", "mvdan.cc/sh/v3/syntax"},
	"trust": {"internal/atomicfile", "internal/shquote", "internal/texts", "internal/userfiles", "internal/script",
		"rules/shell", "github.com/rogpeppe/go-internal/diff"},
	"secret":        {},
	"secret/masked": {"agent", "env", "journal", "llm", "secret", "tool"},
	"env/sandbox": {"env", "internal/filelock", "internal/git", "internal/landlock", "internal/lookpath",
		"internal/shquote", "internal/netguard", "internal/proxy", "internal/userfiles", "internal/version",
		"golang.org/x/sys/..."},
	"env/remote": {"env", "search", "env/remote/internal/wire", "internal/guard", "internal/texts", "internal/shquote",
		"internal/version", "sanitize"},
	"env/remote/serve":         {"env", "search", "env/remote/internal/wire"},
	"env/shellenv":             {"env", "internal/shquote"},
	"env/remote/internal/wire": {"env", "search", "github.com/hashicorp/yamux"},
	"mcp": {"internal/picture", "env", "internal/atomicfile", "internal/filelock", "internal/guard",
		"internal/texts", "internal/netguard", "internal/shquote", "internal/stdioproc", "llm", "sanitize", "tool",
		"tracecontext", "github.com/modelcontextprotocol/go-sdk/...", "golang.org/x/oauth2/..."},
	"lsp": {"env", "internal/texts", "internal/shquote", "internal/stdioproc", "llm", "sanitize", "search", "tool"},
	"ext": {"internal/texts", "internal/script", "llm", "sanitize", "tool", "go.yaml.in/yaml/v3",
		"github.com/BurntSushi/toml"},
	"ext/hooks": {"agent", "env", "env/capture", "ext", "internal/regex", "internal/texts", "internal/shquote",
		"llm", "patch", "rules", "sanitize", "tool"},
	"checkpoint": {"env", "internal/atomicfile", "internal/filelock", "internal/git", "internal/guard",
		"internal/texts", "llm", "search", "tool",
		"github.com/klauspost/compress/zstd", "github.com/rogpeppe/go-internal/diff", "golang.org/x/sync/semaphore",
		"golang.org/x/sys/..."},
	"agent/stepstream": {"agent", "llm"},
	"check":            {"agent", "checkpoint", "env", "env/capture", "llm", "sanitize", "tool"},
	"acp":              {"agent", "env", "internal/textfile", "internal/texts", "llm", "sanitize", "tool", "tool/coding"},
	"server": {root, "agent", "env/sandbox", "internal/atomicfile", "internal/filelock", "internal/protocol",
		"internal/render", "internal/texts", "internal/webguard", "journal", "llm", "permit", "secret/...", "sessions",
		"web", "github.com/google/uuid", "github.com/google/jsonschema-go/jsonschema", "tool"},
	"web": {"internal/webguard", "llm", "tool", "journal", "agent", "secret/...", "sanitize", "internal/texts",
		"sessions/..."},
	"": {"sanitize", "internal/atomicfile", "internal/debuglog", "internal/fault", "internal/git", "internal/lookpath",
		"internal/texts", "internal/settings", "internal/shquote", "internal/userfiles", "internal/version", "llm/...",
		"load",
		"tool/...", "env/...", "instructions", "journal", "profile/...", "agent", "github.com/google/uuid", "permit",
		"rules", "rules/shell", "sessions", "secret/...", "mcp", "lsp", "ext", "ext/hooks", "check", "checkpoint",
		"trust", "undo", "worktree", "github.com/BurntSushi/toml"},
	"load": {"env", "ext", "ext/hooks", "internal/atomicfile", "internal/fault", "internal/git", "internal/texts",
		"internal/settings", "internal/shquote", "internal/userfiles", "mcp", "rules", "trust"},
	"sessions":       {"agent", "internal/fault", "internal/shquote", "internal/userfiles", "journal"},
	"sessions/costs": {"agent", "instructions", "llm"},
	"worktree": {"env", "internal/filelock", "internal/git", "internal/landlock", "internal/lookpath",
		"internal/shquote"},
	"undo": {"agent", "checkpoint", "env", "internal/fault", "internal/texts", "internal/shquote",
		"internal/userfiles", "journal", "sessions"},
	"internal/settings": {"agent", "env", "env/sandbox", "internal/texts", "llm", "llm/catalog",
		"internal/userfiles", "llm/providers", "permit", "profile/profiles", "github.com/BurntSushi/toml"},
	"internal/chat": {"agent", "check", root, "internal/texts", "internal/protocol",
		"internal/render", "internal/tty", "journal", "llm/...", "sessions/...", "undo", "worktree", "permit", "rules",
		"sanitize", "tool"},
	"internal/debuglog": {"agent", "env", "internal/proxied", "llm", "secret", "tool"},
	"internal/protocol": {root, "agent", "internal/conversation", "internal/fault", "internal/texts",
		"internal/userfiles", "llm", "permit", "tool", "tool/coding", "undo",
		"github.com/google/jsonschema-go/jsonschema"},
	"internal/tty": {"internal/atomicfile", "sanitize", "github.com/clipperhouse/displaywidth", "golang.org/x/sys/...",
		"golang.org/x/term"},
	"internal/render": {"sanitize", "agent", "env", "env/capture", "internal/texts", "llm", "mcp", "permit",
		"sessions/costs", "tool", "github.com/clipperhouse/displaywidth", "github.com/yuin/goldmark/..."},
	"cmd/attractor-env":    {"internal/landlock", "golang.org/x/sys/..."},
	"cmd/attractor-remote": {"env/remote/serve"},
}

// ofTests holds the packages that the tests of a package may import, for tests that use only doors.
var ofTests = map[string][]string{
	"internal/doors": {"llm", "llm/llmtest", "env", "search", "tool", "tool/coding", "journal", "profile", "agent",
		"internal/peer", "internal/orphans", "internal/await", "go.uber.org/goleak"},
	"internal/mcptest": {"llm", "llm/llmtest", "env", "tool", "journal", "profile", "agent", "mcp", "internal/peer",
		"internal/orphans", "internal/parallel", "internal/seed", "internal/await", "go.uber.org/goleak"},
}

// listed is a package in the output of go list.
type listed struct {
	Dir, ImportPath                    string
	Imports, TestImports, XTestImports []string
}

// name returns the package's path in the module.
func (p *listed) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, strings.TrimSuffix(module, "/")), "/")
}

// list returns the packages of the module by name.
func list(t *testing.T) map[string]*listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=Dir,ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string]*listed{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		pkg := new(listed)
		if err := dec.Decode(pkg); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[pkg.name()] = pkg
	}
}

// Users of the library get neither OpenTelemetry nor SDKs of clouds: only the modules otel and
// cloud need them.
func TestN6_V1_NeitherTelemetryNorCloudsInTheRoot(t *testing.T) {
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{"opentelemetry", "aws", "cloud.google.com"} {
			if strings.Contains(string(data), of) {
				t.Errorf("%s names %s", name, of)
			}
		}
	}
}

// TestDependencyRule checks that dependencies point one way, as in DESIGN.md, and that each package
// is on the map.
func TestDependencyRule(t *testing.T) {
	for name, pkg := range list(t) {
		rules, ok := allowed[name]
		if room, is := rooms[name]; is {
			rules, ok = room, true
		}
		if !ok && (name == "examples" || strings.HasPrefix(name, "examples/")) {
			programOfAUser(t, pkg)
			continue
		}
		if !ok {
			t.Errorf("package %s is not on the map: add it with what it may import", name)
			continue
		}
		if _, err := os.Stat(filepath.Join(pkg.Dir, "doc.go")); err != nil {
			t.Errorf("package %s has no doc.go that describes it: %v", name, err)
		}
		for _, imp := range beyond(pkg.Imports, rules) {
			t.Errorf("%s imports %s, which the dependency rule forbids", name, imp)
		}
		if rules, ok := ofTests[name]; ok {
			for _, imp := range append(beyond(pkg.TestImports, nil), beyond(pkg.XTestImports, rules)...) {
				t.Errorf("the tests of %s import %s, which is not one of the doors", name, imp)
			}
		}
	}
}

// programOfAUser checks that an example imports nothing internal, as the program of any user.
func programOfAUser(t *testing.T, pkg *listed) {
	t.Helper()
	for _, imp := range pkg.Imports {
		if strings.Contains(imp, "/internal/") {
			t.Errorf("%s imports %s, which its reader cannot", pkg.name(), imp)
		}
	}
}

// TestRoomsStandOnTheDoors checks that neither agent nor a package below it imports a room, and
// that the map does not allow it either.
func TestRoomsStandOnTheDoors(t *testing.T) {
	packages := list(t)
	for name := range rooms {
		if packages[name] == nil {
			t.Errorf("the map has %s, which does not exist", name)
		}
	}
	below := map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		if below[name] {
			return
		}
		below[name] = true
		if pkg, ok := packages[name]; ok {
			for _, imp := range pkg.Imports {
				if inside, ok := strings.CutPrefix(imp, module); ok {
					follow(inside)
				}
			}
		}
		for other := range rooms {
			if matchAny(allowed[name], other) {
				follow(other)
			}
		}
	}
	follow("agent")
	for name := range below {
		if _, is := rooms[name]; is {
			t.Errorf("agent imports %s or may import it, but that package must use agent's doors", name)
		}
	}
}

// Users of the library link these modules and no others. Dependencies of tests are in the packages
// for tests.
func TestJ12_UsersLinkWhatTheyNeed(t *testing.T) {
	for _, user := range []struct {
		packages []string
		modules  []string
	}{
		{[]string{"./agent"}, []string{"github.com/bmatcuk/doublestar/v4", "github.com/google/jsonschema-go",
			"github.com/google/uuid", "golang.org/x/image", "golang.org/x/sync", "golang.org/x/sys",
			"golang.org/x/text"}},
		{[]string{"./agent", "./tool/coding", "./profile/...", "./llm/providers", "./llm/catalog"},
			[]string{"github.com/bmatcuk/doublestar/v4",
				"github.com/google/jsonschema-go", "github.com/google/uuid", "github.com/rogpeppe/go-internal",
				"golang.org/x/image", "golang.org/x/sync", "golang.org/x/sys",
				"golang.org/x/text"}},
		{[]string{"./llm/llmtest", "./llm/fakellm", "./llm/providers"}, nil},
		{[]string{"./env/envtest"}, []string{"golang.org/x/sys", "golang.org/x/text"}},
	} {
		linked := linkedModules(t, user.packages)
		if !slices.Equal(linked, user.modules) {
			t.Errorf("a user of %v links %v, want %v", user.packages, linked, user.modules)
		}
	}
}

// linkedModules returns the other modules that a program with these packages links on this system,
// sorted.
func linkedModules(t *testing.T, packages []string) []string {
	t.Helper()
	args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"},
		packages...)
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	return slices.Compact(modules)
}

// beyond returns the imports that are neither in the standard library nor allowed by the rules.
func beyond(imports, rules []string) (others []string) {
	for _, imp := range imports {
		if !standard(imp) && !matchAny(rules, strings.TrimPrefix(imp, module)) {
			others = append(others, imp)
		}
	}
	return others
}

// standard reports whether an import is in the standard library.
func standard(imp string) bool { return !strings.Contains(strings.Split(imp, "/")[0], ".") }

// matchAny reports whether a rule allows an import.
func matchAny(rules []string, imp string) bool {
	for _, rule := range rules {
		tree, isTree := strings.CutSuffix(rule, "...")
		if rule == imp || isTree && strings.HasPrefix(imp+"/", tree) {
			return true
		}
	}
	return false
}
