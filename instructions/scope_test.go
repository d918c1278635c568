package instructions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/instructions"
)

// The front matter of rules in the forms in which people write it.
func TestM10_RulesNameTheirFiles(t *testing.T) {
	for _, c := range []struct {
		text, body string
		globs      []string
		told       string
	}{
		{"# No front matter", "# No front matter", nil, ""},
		{"---\npaths:\n  - \"src/**/*.ts\"\n  - 'lib/**'\n---\n\n# T", "# T", []string{"src/**/*.ts", "lib/**"}, ""},
		{"---\npaths:\n- src/api/**\n# a comment\n\n- ./docs/*.md\n---\nT", "T", []string{"src/api/**", "docs/*.md"},
			""},
		{"---\npaths: **/*.cs, **/Controllers/**\n---\nT", "T", []string{"**/*.cs", "**/Controllers/**"}, ""},
		{"---\nglobs: \"**/*.{ts,tsx}\"\n---\nT", "T", []string{"**/*.{ts,tsx}"}, ""},
		{"---\npaths: [\"a/*.go\", b/*.{c,h}, '/c/'] \n---\nT", "T", []string{"a/*.go", "b/*.{c,h}", "c/**"}, ""},
		{"---\npaths:\n# see issue #12 and #13\n- a/**\n---\nT", "T", []string{"a/**"}, ""},
		{"---\ndescription: For: tests\nalwaysApply: false\npaths: a/** # only there\n---\nT", "T", []string{"a/**"},
			""},
		{"---\r\npaths: a/**\r\n---\r\nT", "T", []string{"a/**"}, ""},
		{"---\napplyTo: \"**/*.ts\"\n---\nT", "T", nil,
			"/r/x.md, line 2: the field applyTo is not supported; a rule can have paths, or globs, with the files " +
				"that it applies to"},
		{"---\npaths: \"a/[\"\n---\nT", "T", nil,
			"/r/x.md, line 2: the pattern a/[ cannot be used: it has to be a path from /r, such as src/**/*.ts; " +
				"/r/x.md: it has no usable pattern in paths, so it applies to all files"},
		{"---\nx: 1\npaths:\n  - a\n  - ../b\n---\nT", "T", []string{"a"},
			"/r/x.md, line 2: the field x is not supported; a rule can have paths, or globs, with the files that it " +
				"applies to; /r/x.md, line 5: the pattern ../b cannot be used: it has to be a path from /r, such as " +
				"src/**/*.ts"},
		{"---\npaths: {a,{b,c}}{d,e}{f,g}{h,i}{j,k}{l,m}{n,o}{p,q}{r,s}{t,u}\n---\nT", "T", nil,
			"/r/x.md, line 2: the pattern {a,{b,c}}{d,e}{f,g}{h,i}{j,k}{l,m}{n,o}{p,q}{r,s}{t,u} cannot be used: it " +
				"has to be a path from /r, such as src/**/*.ts; /r/x.md: it has no usable pattern in paths, so it " +
				"applies to all files"},
		{"---\npaths: a, /, {..,b}/c\n---\nT", "T", []string{"a"},
			"/r/x.md, line 2: the pattern cannot be used: it has to be a path from /r, such as src/**/*.ts; /r/x.md, " +
				"line 2: the pattern {..,b}/c cannot be used: it has to be a path from /r, such as src/**/*.ts"},
		{"---\npaths:\n---\nT", "T", nil, "/r/x.md: it has no usable pattern in paths, so it applies to all files"},
		{"---\nA line and no end\n\nT", "---\nA line and no end\n\nT", nil, ""},
		{"---\n---\nT", "T", nil, ""},
	} {
		d, body, mistakes := instructions.Scope(c.text)
		var told []string
		for _, m := range mistakes {
			told = append(told, m.String())
		}
		if body != c.body || !slices.Equal(d.Globs, c.globs) || strings.Join(told, "; ") != c.told {
			t.Errorf("%q:\n%q %q\n%s\nwant\n%q %q\n%s", c.text, body, d.Globs, strings.Join(told, "; "), c.body,
				c.globs, c.told)
		}
	}
}

// Patterns are paths from the directory that has the rules.
func TestM10_RulesMatchPaths(t *testing.T) {
	for glob, files := range map[string]string{
		"**/*.ts":         "+a.ts +src/b.ts +x/y/z.ts -a.tsx -a.ts/b",
		"src/**/*.{ts,x}": "+src/a.ts +src/b/c/d.x -lib/a.ts -src/a.tsx",
		"*.md":            "+README.md -docs/a.md",
		"src/**":          "+src/a +src/a/b -srca/b",
		"a/*/c":           "+a/b/c -a/c -a/b/b/c",
		"a/**/c/**/d":     "+a/c/d +a/b/c/x/y/d -a/d",
		"[ab]?.go":        "+ax.go -cx.go -a/x.go",
		"**":              "+a +a/b",
	} {
		d, _, mistakes := instructions.Scope("---\npaths: \"" + glob + "\"\n---\nT")
		if len(mistakes) > 0 {
			t.Errorf("%s: %v", glob, mistakes)
		}
		for _, file := range strings.Fields(files) {
			if got := d.AppliesTo("/r/" + file[1:]); got != (file[0] == '+') {
				t.Errorf("%s applies to %s: %t", glob, file[1:], got)
			}
		}
		if d.AppliesTo("/other/a.ts") {
			t.Errorf("%s applies to a file of another directory", glob)
		}
	}
	// The depth of a file bounds the time that a pattern takes.
	if d, _, _ := instructions.Scope("---\npaths: **/*.ts\n---\nT"); !d.AppliesTo("/r/"+strings.Repeat("a/", 63)+
		"b.ts") ||
		d.AppliesTo("/r/"+strings.Repeat("a/", 64)+"b.ts") {
		t.Errorf("%q", d.Globs)
	}
	// A pattern and a path that would keep a matcher with backtracking busy for ever.
	d, _, _ := instructions.Scope("---\npaths: " + strings.Repeat("**/a*/", 15) + "x\n---\nT")
	if len(d.Globs) != 1 || d.AppliesTo("/r/"+strings.Repeat("aa/", 60)+"y") {
		t.Errorf("%q", d.Globs)
	}
}

// A rule for certain files is not in the prompt. Its patterns are in the list.
func TestM10_RulesForSomeFilesComeLater(t *testing.T) {
	w := newTree(t, ".claude/rules/all.md", "---\ndescription: x\n---\nFOR ALL", ".claude/rules/ts.md",
		"---\npaths: **/*.ts\n---\nFOR TS @more.md", ".claude/rules/more.md", "MORE", "x.ts", "")
	found := w.find("", claude())
	w.expect("documents", w.listed(found),
		".claude/rules/all.md whole\n.claude/rules/more.md whole\n.claude/rules/ts.md later [\"**/*.ts\"]\n")
	has(t, found.Text, "They apply to all files", "\n\nFOR ALL")
	lacks(t, found.Text, "FOR TS", "description")
}

// Arbitrary front matter has usable patterns, and nothing of it is lost silently.
func FuzzM10_Rules(f *testing.F) {
	for _, seed := range []string{"---\npaths: a\n---\nx", "---\npaths:\n- {a,b}\n---\n",
		"---\nglobs: [a,\"b\"]\n---\nx", "---\nx", "---\n---\n"} {
		f.Add(seed, "a/b.ts")
	}
	f.Fuzz(func(t *testing.T, text, file string) {
		d, body, mistakes := instructions.Scope(text)
		if !strings.Contains(strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(body, "\r\n", "\n")) ||
			len(d.Globs) > 100 || len(mistakes) > 50 {
			t.Errorf("%q: %q, %d patterns, %d mistakes", text, body, len(d.Globs), len(mistakes))
		}
		d.AppliesTo("/r/" + file)
	})
}
