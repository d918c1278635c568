package house_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the picture of the packages in DESIGN.md and the sizes in "+
	"docs/size.md again")

// group is a part of the picture of the packages: those that do the same for a session.
type group struct {
	name     string
	packages []string
}

// groups are the parts of the picture, from the top down. Small packages that anybody may import,
// and those for tests, are not in it.
func groups() []group {
	return []group{
		{"hosts", []string{"command", "cmd/attractor", "internal/cli", "internal/chat", "internal/tty",
			"internal/render", "internal/protocol", "acp", "web"}},
		{"wiring", []string{"", "internal/debuglog"}},
		{"files of users", []string{"load", "internal/settings"}},
		{"extensions", []string{"mcp", "ext", "ext/hooks", "lsp"}},
		{"back in time", []string{"checkpoint", "undo", "check", "sessions"}},
		{"judgement", []string{"permit", "rules", "rules/shell", "trust", "secret", "secret/masked"}},
		{"sessions", []string{"agent", "agent/stepstream", "journal"}},
		{"model families", []string{"profile", "profile/anthropic", "profile/openai", "profile/gemini",
			"profile/profiles", "instructions"}},
		{"tools", []string{"tool", "tool/coding", "tool/webfetch", "patch"}},
		{"machine", []string{"env", "env/sandbox", "env/remote", "env/remote/serve", "env/remote/internal/wire",
			"env/shellenv", "env/capture", "internal/contain", "internal/proxy", "search"}},
		{"models", []string{"llm", "llm/anthropic", "llm/openai", "llm/gemini", "llm/openaichat", "llm/providers",
			"llm/catalog", "llm/generate", "llm/internal/api", "llm/internal/sse"}},
	}
}

// The picture in DESIGN.md is what go list says, and no two of its parts import each other.
func TestT13_PictureOfThePackages(t *testing.T) {
	packages, all := list(t), groups()
	of := map[string]int{}
	for i, g := range all {
		for _, name := range g.packages {
			if packages[name] == nil {
				t.Errorf("%s is in the picture, and does not exist", name)
			}
			of[name] = i
		}
	}
	imports := make([][]bool, len(all))
	for i, g := range all {
		imports[i] = make([]bool, len(all))
		for _, name := range g.packages {
			for _, imported := range packages[name].Imports {
				inside, ok := strings.CutPrefix(imported+"/", module)
				if j, known := of[strings.TrimSuffix(inside, "/")]; ok && known && j != i {
					imports[i][j] = true
				}
			}
		}
	}
	for i := range all {
		for j := range i {
			if imports[i][j] {
				t.Errorf("%s imports %s, which stands above it", all[i].name, all[j].name)
			}
		}
	}
	if !t.Failed() {
		drawn(t, picture(all, imports))
	}
}

// picture draws the imports that do not follow from others.
func picture(all []group, imports [][]bool) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for i := range all {
		for j := range all {
			follows := slices.ContainsFunc(reached(imports, i), func(k int) bool {
				return k != j &&
					slices.Contains(reached(imports, k), j)
			})
			if imports[i][j] && !follows {
				fmt.Fprintf(&b, "    %s --> %s\n", node(all[i]), node(all[j]))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// reached returns the parts that a part imports, also by others.
func reached(imports [][]bool, from int) (to []int) {
	for j := range imports {
		if imports[from][j] {
			to = append(append(to, j), reached(imports, j)...)
		}
	}
	return to
}

func node(g group) string {
	return strings.ReplaceAll(g.name, " ", "_") + `["` + g.name + `"]`
}

// drawn compares the picture with the one in DESIGN.md, or replaces it.
func drawn(t *testing.T, want string) {
	t.Helper()
	const begin, end = "<!-- packages:begin -->\n", "<!-- packages:end -->\n"
	data, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	got, after, closed := strings.Cut(rest, end)
	switch {
	case !ok || !closed:
		t.Fatalf("DESIGN.md has no place for the picture, between %s and %s", begin, end)
	case got == want:
	case !*update:
		t.Errorf("the picture in DESIGN.md is not what go list says; draw it again with: (cd house && go test . -run "+
			"T13 -update)\n%s", want)
	default:
		if err := os.WriteFile("DESIGN.md", []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// The papers that everybody opens first can be read in a few minutes.
func TestT13_PapersAreShort(t *testing.T) {
	for name, most := range map[string]int64{"README.md": 9_000, "DESIGN.md": 12_000, "AGENTS.md": 6_000,
		"SECURITY.md": 12_000} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > most {
			t.Errorf("%s has %d bytes, more than %d: put details into a page of docs", name, info.Size(), most)
		}
	}
}
