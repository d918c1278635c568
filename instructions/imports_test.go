package instructions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/instructions"
)

// Imports follow the document that has them, and those that they import follow them.
func TestM10_Imports(t *testing.T) {
	w := newTree(t, "CLAUDE.md", "Read @docs/a.md, @docs/b.md. See (@README) and @package.json!\n@with\\ space.md\n",
		"docs/a.md", "TEXT A @c.md\n", "docs/b.md", "TEXT B @./c.md @../CLAUDE.md",
		"docs/c.md", "TEXT C @a.md", "README", "TEXT README", "package.json", "{}", "with space.md", "TEXT SPACE")
	found := w.find("", claude())
	w.expect("documents", w.listed(found), `CLAUDE.md whole
docs/a.md whole by CLAUDE.md
docs/c.md whole by docs/a.md
docs/b.md whole by CLAUDE.md
README whole by CLAUDE.md
package.json whole by CLAUDE.md
with space.md whole by CLAUDE.md
`)
	w.expect("mistakes", w.told(found), "")
	has(t, found.Text, "# Project instructions from "+w.dir+"/docs/c.md\n\nImported by "+w.dir+
		"/docs/a.md. They apply to all files in "+w.dir+" and below.\n\nTEXT C @a.md")
	if n := strings.Count(found.Text, "TEXT C"); n != 1 {
		t.Errorf("a text that two documents import is there %d times", n)
	}
}

// What stands in code or a comment is no import, nor is a name that people write with an @.
func TestM10_WhatIsNoImport(t *testing.T) {
	for text, want := range map[string]string{
		"@x.md":                           "x.md",
		"see @x.md.":                      "x.md",
		"**@x.md**":                       "", // no blank before it
		"- @x.md\n- @y.md":                "x.md y.md",
		"`@x.md`":                         "",
		"``@x.md ` @x.md``":               "",
		"` @x.md":                         "x.md", // not closed
		"a ` b\n\n@x.md ` c":              "x.md", // code ends with its paragraph
		"a ` b\n@x.md ` c":                "",
		"```\n@x.md\n```\n@y.md":          "y.md",
		"```go\n@x.md\n~~~\n```` \n@y.md": "y.md",
		"~~~\n@x.md\n```\n@y.md\n":        "",
		"   ```\n@x.md":                   "",
		"``` @x.md ``` @y.md":             "y.md",
		"<!-- @x.md\n\n@x.md --> @y.md":   "y.md",
		"<!-- @x.md":                      "",
		"me@x.md":                         "",
		"@somebody @types/node @x @x.js me@example.org": "",
		"@x.md @x.md":  "x.md",
		"@\n@ x.md @.": "",
	} {
		w := newTree(t, "AGENTS.md", text, "x.md", "TEXT X", "y.md", "TEXT Y")
		found := w.find("", instructions.Options{})
		var got []string
		for _, d := range found.Documents[1:] {
			got = append(got, filepath.Base(d.Path))
		}
		if strings.Join(got, " ") != want || len(found.Mistakes) > 0 {
			t.Errorf("%q imports %q, want %q; %v", text, got, want, found.Mistakes)
		}
	}
}

// Imports of a project's documents stay in the project, also through links. What is not imported is
// told with its line.
func TestM10_ImportsStayInTheProject(t *testing.T) {
	outside := newTree(t, "secret.md", "OUTSIDE")
	w := newTree(t, "AGENTS.md", "\n\nFirst\n@../x.md\n@~/.ssh/id_rsa\n@"+outside.dir+
		"/secret.md\n@link.md @dir/secret.md\n@.git/config @./.env\n@env.md @missing.md\n@docs/ @./docs\n"+
		"@./docs/x.md @key.md",
		".env", "TOKEN=OUTSIDE", "docs/x.md", "INSIDE", "key.md", "OUTSIDE")
	w.link(filepath.Join(outside.dir, "secret.md"), "link.md")
	w.link(outside.dir, "dir")
	w.link(".env", "env.md")
	found := w.find("", instructions.Options{Refuse: func(file string) string {
		if filepath.Base(file) == "key.md" {
			return "it usually holds secrets"
		}
		return ""
	}})
	w.expect("documents", w.listed(found), "AGENTS.md whole\ndocs/x.md whole by AGENTS.md\n")
	lacks(t, found.Text, "OUTSIDE")
	told := strings.ReplaceAll(w.told(found), w.dir, "DIR")
	told = strings.ReplaceAll(told, outside.dir, "OUT")
	w.expect("mistakes", told, `AGENTS.md, line 4: @../x.md is not imported: a project's document imports files in DIR only
AGENTS.md, line 5: @~/.ssh/id_rsa is not imported: a project's document imports files of the project only, not of the home directory
AGENTS.md, line 6: @OUT/secret.md is not imported: a project's document imports files in DIR only
AGENTS.md, line 7: @link.md is not imported: leads to OUT/secret.md, which is outside of the allowed directories (); use a path inside of them
AGENTS.md, line 7: @dir/secret.md is not imported: leads to OUT/secret.md, which is outside of the allowed directories (); use a path inside of them
AGENTS.md, line 8: @.git/config is not imported: it leads out of DIR, or into git's directory
AGENTS.md, line 8: @./.env is not imported: hidden files are not imported
AGENTS.md, line 9: @env.md is not imported: hidden files are not imported
AGENTS.md, line 9: @missing.md is not imported: there is no such file
AGENTS.md, line 10: @./docs is not imported: it is not a regular file
AGENTS.md, line 11: @key.md is not imported: it usually holds secrets
`)
}

// Imports go five files deep.
func TestM10_ImportsFiveDeep(t *testing.T) {
	w := newTree(t, "AGENTS.md", "@1.md", "1.md", "ONE @2.md", "2.md", "TWO @3.md", "3.md", "THREE @4.md", "4.md",
		"FOUR @5.md", "5.md", "FIVE\n@6.md", "6.md", "SIX")
	found := w.find("", instructions.Options{})
	has(t, found.Text, "ONE", "TWO", "THREE", "FOUR", "FIVE")
	lacks(t, found.Text, "SIX")
	w.expect("mistakes", w.told(found), "5.md, line 2: @6.md is not imported: imports go 5 files deep\n")
}

// The user's documents come first, and may import what is in the home directory. A link may lead
// out of it, as those of dotfiles do.
func TestM10_UserDocuments(t *testing.T) {
	elsewhere := newTree(t, "agents.md", "OF THE USER\n@./style.md @~/more.md @/etc/hostname", "style.md", "STYLE",
		"other.md", "@~/more.md")
	home := newTree(t, "more.md", "MORE", ".claude/CLAUDE.md", "OF CLAUDE @../../x.md\n@missing.md @../more.md",
		"empty.md", " ")
	w := newTree(t, "AGENTS.md", "PROJECT", "CLAUDE.md", "OF CLAUDE @../../x.md\n@missing.md @../more.md")
	home.link(filepath.Join(elsewhere.dir, "agents.md"), ".config/attractor/AGENTS.md")
	home.link(filepath.Join(elsewhere.dir, "style.md"), ".config/attractor/style.md")
	user, mistakes := instructions.ReadUser(t.Context(), home.dir, []string{home.dir + "/.config/attractor/AGENTS.md"},
		[]string{home.dir + "/empty.md", home.dir + "/.claude/CLAUDE.md", home.dir + "/more.md"},
		[]string{home.dir + "/none.md"})
	o := claude()
	o.User, o.UserMistakes = user, mistakes
	found := w.find("", o)
	text := strings.ReplaceAll(found.Text, home.dir, "~")
	has(t, text, "# User instructions from ~/.config/attractor/AGENTS.md\n\nThey apply to all projects.\n\nOF THE USER",
		"# User instructions from ~/more.md\n\nImported by ~/.config/attractor/AGENTS.md. They apply to all "+
			"projects.\n\nMORE",
		"OF CLAUDE", "# Project instructions from", "PROJECT")
	if strings.Count(text, "OF CLAUDE") != 1 || strings.Count(text, "MORE") != 1 {
		t.Errorf("a text is there twice:\n%s", text)
	}
	told := strings.ReplaceAll(w.told(found), home.dir, "~")
	host, err := os.Stat("/etc/hostname")
	want := `~/.config/attractor/AGENTS.md, line 2: @./style.md is not imported: a user's document imports files in the home directory only
~/.config/attractor/AGENTS.md, line 2: @/etc/hostname is not imported: a user's document imports files in the home directory only
~/.claude/CLAUDE.md, line 1: @../../x.md is not imported: there is no such file
~/.claude/CLAUDE.md, line 2: @missing.md is not imported: there is no such file
CLAUDE.md, line 1: @../../x.md is not imported: a project's document`
	if err != nil || !host.Mode().IsRegular() {
		want = strings.Replace(want,
			"/etc/hostname is not imported: a user's document imports files in the home directory only",
			"/etc/hostname is not imported: there is no such file", 1)
	}
	// the project's copy is not read for imports
	want, _, _ = strings.Cut(want, "CLAUDE.md, line 1: @../../x.md is not imported: a p")
	w.expect("mistakes", told, want)
}

// Arbitrary documents have imports only outside of code, with names that are in the text.
func FuzzM10_Imports(f *testing.F) {
	for _, seed := range []string{"@a.md", "`@a.md`", "```\n@a.md\n```", "<!-- @a.md -->", "@a\\ b.md,",
		"``` `` ` @a.md"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, ref := range instructions.Imports(text) {
			if ref.Line < 1 || ref.Line > strings.Count(text, "\n")+1 ||
				!strings.Contains(strings.ReplaceAll(text, "\\ ", " "), ref.Name) {
				t.Errorf("%q imports %+v", text, ref)
			}
		}
		for _, code := range []string{"```\n" + text, "<!-- " + strings.ReplaceAll(text, "-", "")} {
			if fence := strings.Contains(code[3:], "```"); fence && code[0] == '`' {
				continue
			}
			if refs := instructions.Imports(code); len(refs) > 0 {
				t.Errorf("%q imports %+v", code, refs)
			}
		}
	})
}
