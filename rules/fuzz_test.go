package rules_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// FuzzL1_File loads arbitrary files of rules and decides by those that load. Each error names the
// file.
func FuzzL1_File(f *testing.F) {
	for _, seed := range []string{`{"permissions": {"allow": ["Bash(go test:*)"], "deny": [{"rule": "Read(./x/**)", "match": ["x/y"], "not_match": []}]}}`,
		`{"permissions": {"ask": [1, {"rule": 2}, {"match": {}}], "additionalDirectories": ["~/x"], "x": 1}}`,
		`{"permissions": []}`, "{", "[[[[", "\ufeff{}",
		`{"permissions":{"deny":["Edit([a-z]*/**/?\\*)", "mcp__a__*", "WebFetch(domain:*.x)"]}}`} {
		f.Add([]byte(seed), "ls x && rm 'y z'", "x/y")
	}
	p := newProject(f)
	f.Fuzz(func(t *testing.T, data []byte, script, name string) {
		s, err := rules.Load(p.dirs(), rules.Source{Name: "F", Data: data})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "F:") {
				t.Fatal(err)
			}
			return
		}
		s.Decide(t.Context(), p.env, tool.Request{Call: llm.ToolCall{Name: "shell"},
			Access: tool.Access{Command: script}})
		s.Decide(t.Context(), p.env, tool.Request{Call: llm.ToolCall{Name: "write_file"},
			Access: tool.Access{Paths: []string{name}}})
	})
}

// FuzzL1_Suggestions checks that what is suggested for a command is a rule that answers its
// question.
func FuzzL1_Suggestions(f *testing.F) {
	for _, seed := range []string{"go test ./...", "rm *.o", `a 'b*' "c" \d`, "a (b", "x:*", "x *", "a; b > c",
		"Bash(x)", "é ü", "cat .env > out", `a "\*"`, `echo '\*' x`, "'' 0", "0>/0"} {
		f.Add(seed)
	}
	p := newProject(f, ".env")
	f.Fuzz(func(t *testing.T, script string) {
		s, err := rules.Load(p.dirs())
		if err != nil {
			t.Fatal(err)
		}
		req := tool.Request{Call: llm.ToolCall{Name: "shell"}, Access: tool.Access{Command: script}}
		d := s.Decide(t.Context(), p.env, req)
		if d.Suggest == nil {
			return
		}
		if err := s.Allow(d.Suggest...); err != nil {
			t.Fatalf("%q suggests %q: %v", script, d.Suggest, err)
		}
		if again := s.Decide(t.Context(), p.env, req); again.Verdict != tool.Allow {
			t.Fatalf("%q is still asked about with %q: %s", script, d.Suggest, again.Reason)
		}
	})
}

// Patterns match the same words as a regular expression that is made from them.
func TestL1_PatternsMatchAsExpressions(t *testing.T) {
	p := newProject(t)
	seed.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"x", "xx", "*", "x*", "*x", "xy", "y", `"x *"`, `'x y'`, `\*`})
		pattern := strings.Join(rapid.SliceOfN(part, 1, 4).Draw(t, "pattern"),
			rapid.SampledFrom([]string{" ", "  ", ""}).Draw(t, "between"))
		if open := rapid.Bool().Draw(t, "open"); open {
			pattern += ":*"
		}
		if strings.Contains(strings.TrimSuffix(pattern, ":*"), ":*") || strings.Trim(pattern, "*: ") == "" {
			return
		}
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "xx", "xy", "yx", "y", "x y", "x x", "*", "x*", ""}), 1,
			4).Draw(t, "words")
		if words[0] == "" {
			words[0] = "x"
		}
		s, err := rules.Load(p.dirs(), source(`{"deny": [`+strings.ReplaceAll(fmt.Sprintf("%q", "Bash("+pattern+")"),
			`\x`, `\u00`)+`]}`))
		if err != nil {
			t.Fatal(err)
		}
		script := quoted(words)
		d := s.Decide(p.t.Context(), p.env,
			tool.Request{Call: llm.ToolCall{Name: "shell"}, Access: tool.Access{Command: script}})
		want := expression(pattern).MatchString(strings.Join(words, "\x00") + "\x00")
		if got := d.Verdict == tool.Deny; got != want {
			t.Fatalf("%s on %q: %v, want %v", pattern, words, got, want)
		}
	})
}

// expression returns the regular expression for a pattern, written another way than the package
// does it.
func expression(pattern string) *regexp.Regexp {
	prefix, open := strings.CutSuffix(pattern, ":*")
	if !open {
		prefix, open = strings.CutSuffix(prefix, " *")
	}
	text, quote := "", ""
	for i := 0; i < len(strings.TrimSpace(prefix)); i++ {
		switch c := strings.TrimSpace(prefix)[i : i+1]; {
		case c == `\`:
			i++
			text += regexp.QuoteMeta(prefix[i : i+1])
		case c == quote:
			quote = ""
		case quote == "" && (c == "'" || c == `"`):
			quote = c
		case c == "*" && quote != "":
			text += "\x03"
		case c == "*":
			text += "(?s:.*)"
		case c == " " && quote == "":
			text += "\x00"
		default:
			text += regexp.QuoteMeta(c)
		}
	}
	text = regexp.MustCompile("\x00+").ReplaceAllString(text, "\x00") + "\x00"
	text = strings.ReplaceAll(text, "\x03", "[^\x00]*")
	if open {
		text += "(?s:.*)"
	}
	return regexp.MustCompile("^" + text + "$")
}
