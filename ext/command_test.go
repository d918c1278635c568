package ext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/ext"
)

// command parses a file.
func command(t *testing.T, file, data string) *ext.Command {
	t.Helper()
	c, mistakes := ext.ParseCommand(ext.File{Name: file, Data: []byte(data)}, "x")
	if c == nil || len(mistakes) > 0 {
		t.Fatalf("%s: %v", data, mistakes)
	}
	return c
}

// pieces returns pieces as text: what is run in ⟨⟩, files in «».
func pieces(list []ext.Piece) string {
	var b strings.Builder
	for _, p := range list {
		switch p.Kind {
		case ext.PieceText:
			b.WriteString(p.Text)
		case ext.PieceShell:
			fmt.Fprintf(&b, "⟨%s⟩", p.Text)
		case ext.PieceFile:
			fmt.Fprintf(&b, "«%s»", p.Text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Prompts as they are found in public repositories.
func TestM7_Templates(t *testing.T) {
	for _, c := range []struct{ name, prompt, args, want string }{
		{"arguments", "Fix issue $ARGUMENTS.", "123 high", "Fix issue 123 high."},
		{"words", "Review PR #$1 with priority $2, for $3", `456 "very high" alice bob`,
			"Review PR #456 with priority very high, for alice"},
		{"missing words", "From $1 to $2.", "main", "From main to ."},
		{"counted from 0", "Move $0 from $1 to $ARGUMENTS[2]", "a b c", "Move a from b to c"},
		{"elements", "Move $ARGUMENTS[0] to $1 ($ARGUMENTS[7])", "a b c", "Move a to a ()"},
		{"no place", "Do it.", "with care", "Do it.\n\n\nARGUMENTS: with care"},
		{"no arguments", "Do it. $ARGUMENTS", "", "Do it. "},
		{"prices and variables", "It costs $1.50, $10 or \\$1, see $HOME and ${1} $ARGUMENTSX", "x",
			"It costs $1.50, $10 or $1, see $HOME and ${1} $ARGUMENTSX\n\n\nARGUMENTS: x"},
		{"apostrophes", "$1|$2|$3", "don't it's 'a b'", "don't|it's|a b"},
		{"quotes that do not end", "$1|$2", `say "no`, `say|"no`},
		{"commands", "- Status: !`git status`\n- Diff: !`git diff HEAD -- $1`\n", "a.go",
			"- Status: ⟨git status⟩\n- Diff: ⟨git diff HEAD -- a.go⟩"},
		{"a command of several lines", "Look:\n```!\nnode --version\ngit log -n $1\n```\nDone", "3",
			"Look:\n⟨node --version\ngit log -n 3⟩Done"},
		{"commands in code", "```bash\n!`git diff`\n```\n", "", "```bash\n⟨git diff⟩\n```"},
		{"no commands", "Wow!`x` `` !`y` `` !`` `!` !`\nz` a\\!`b`", "", "Wow!`x` `` !`y` `` !`` `!` !`\nz` a\\!`b`"},
		{"awk", "!`ps | awk '{print $1}'`", "x", "⟨ps | awk '{print $1}'⟩\n\n\nARGUMENTS: x"},
		{"files", "Compare @src/old.go with @./b.go, (@c.md) and \"@d\". See @\"a b.txt\".", "",
			"Compare «src/old.go» with «./b.go», («c.md») and \"«d»\". See «a b.txt»."},
		{"files with brackets", "@app/(auth)/[id]/page.tsx (see @x.ts)", "", "«app/(auth)/[id]/page.tsx» (see «x.ts»)"},
		{"files by arguments", "Review @$1 and @src/$2.", "a.go b.go", "Review «a.go» and «src/b.go»."},
		{"no files", "me@x.org @ `@Override`\n```java\n@Test\n```\n\\@x", "",
			"me@x.org @ `@Override`\n```java\n@Test\n```\n\\@x"},
		{"a long word is no file", "@" + strings.Repeat(")", 900_000), "", "@" + strings.Repeat(")", 900_000)},
		{"arguments are text", "Do $ARGUMENTS and $1", "'!`rm -rf x`' @/etc/passwd $2 $ARGUMENTS",
			"Do '!`rm -rf x`' @/etc/passwd $2 $ARGUMENTS and !`rm -rf x`"},
		{"arguments of commands are text", "!`git log $ARGUMENTS`", "-n 1; rm -rf x `id` $(id)",
			"⟨git log -n '1;' rm -rf x '`id`' '$(id)'⟩"},
		{"what cannot be seen", "Do $1", "a\u202eb\x1b[31m", "Do a\\u{202e}b\\u{1b}[31m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := command(t, "x.md", c.prompt).Fill(c.args)
			if err != nil || pieces(got) != c.want {
				t.Errorf("%q, %v, want %q", pieces(got), err, c.want)
			}
		})
	}
}

func TestM7_ArgumentsThatCannotBeQuoted(t *testing.T) {
	c := command(t, "x.md", "!`echo $((1+$1))`")
	if got, err := c.Fill("x[$(id)]"); err == nil || !strings.Contains(err.Error(),
		"!`echo $((1+$1))` cannot be run with these arguments") {
		t.Errorf("%q, %v", got, err)
	}
}

// The fields of front matter, with mistakes.
func TestM7_Commands(t *testing.T) {
	for _, c := range []struct {
		name, file, data string
		want             *ext.Command
		mistakes         []string
	}{
		{"complete", "a.md", "---\ndescription: Creates a commit\nargument-hint: [message] [scope]\nallowed-tools: " +
			"Bash(git add:*), Bash(git commit:*)\nmodel: haiku\neffort: low\narguments: [message, scope]\n---\n" +
			"Commit $message ($scope)\n",
			&ext.Command{Description: "Creates a commit", Hint: "[message] [scope]", Model: "haiku", Effort: "low",
				Tools: []string{"Bash(git add:*)", "Bash(git commit:*)"}}, nil},
		{"none", "a.md", "# Fix the tests\n\nRun them.", &ext.Command{Description: "Fix the tests"}, nil},
		{"unknown fields", "a.md", "---\nmodle: opus\nagent: plan\nhooks:\n  Stop: []\narguments: 1x\n---\nDo it",
			&ext.Command{Description: "Do it"}, []string{
				"a.md, line 3: agent has no effect: a command runs in the session itself",
				"a.md, line 4: hooks has no effect: hooks are configured in settings files",
				"a.md, line 6: 1x cannot be the name of an argument, which begins with a letter and goes on with " +
					"letters, digits and _",
				"a.md, line 2: unknown fields have no effect: modle; the supported fields are description, " +
					"argument-hint, model, effort, allowed-tools, arguments"}},
		{"empty", "a.md", "---\ndescription: x\n---\n \n", nil,
			[]string{"a.md: there is no prompt in it, so there is no command /x"}},
		{"many", "a.md", strings.Repeat("@a ", 51), nil,
			[]string{"a.md: it has more than 50 shell commands and files, so there is no command /x"}},
		{"large", "a.md", strings.Repeat("x", ext.MaxFile+1), nil,
			[]string{"a.md: the file has more than 1024 KiB, so it is not used"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, mistakes := ext.ParseCommand(ext.File{Name: c.file, Data: []byte(c.data)}, "x")
			var texts []string
			for _, m := range mistakes {
				texts = append(texts, m.Error())
			}
			if diff := cmp.Diff(c.mistakes, texts); diff != "" {
				t.Error(diff)
			}
			if (got == nil) != (c.want == nil) || got != nil &&
				!cmp.Equal([]any{c.want.Description, c.want.Hint, c.want.Model, c.want.Effort, c.want.Tools},
					[]any{got.Description, got.Hint, got.Model, got.Effort, got.Tools}) {
				t.Errorf("%+v", got)
			}
		})
	}
	got, err := command(t, "x.md", "---\narguments: issue branch\n---\n$issue on $branch, $other").Fill("12 main")
	if err != nil || pieces(got) != "12 on main, $other" {
		t.Errorf("%q, %v", pieces(got), err)
	}
}

func TestM7_CommandNames(t *testing.T) {
	for file, want := range map[string]string{"review.md": "review", "git/commit.md": "git:commit",
		"a/b/c.toml": "a:b:c", "Fix_it-2.0.md": "Fix_it-2.0", "größe.md": "größe",
		"review.txt": "", "a b.md": "", ".md": "", "-x.md": "", "a/.git/x.md": "", "\u202ex.md": "",
		strings.Repeat("x", 101) + ".md": ""} {
		if got := ext.CommandName(file); got != want {
			t.Errorf("%q is %q, want %q", file, got, want)
		}
	}
}

// Commands of gemini-cli.
func TestM7_GeminiCommands(t *testing.T) {
	for _, c := range []struct{ name, data, args, want string }{
		{"one line", `prompt = "Explain {{args}}, not $1"`, "a 'b", "Explain a 'b, not $1"},
		{"lines", "# Makes a commit.\ndescription = 'Commits' # so\nprompt = \"\"\"\nLook at \"\"this\"\" \\\n   " +
			"line:\n\n```diff\n!{git diff --staged}\n```\n\\u00e9\"\"\"\n", "",
			"Look at \"\"this\"\" line:\n\n```diff\n⟨git diff --staged⟩\n```\né"},
		{"arguments of commands",
			"prompt = '''!{grep -r \"{{ args }}\" -e {{args}} '{{args}}' $ARGUMENTS | awk '{print $1}'}'''", `a "b`,
			`⟨grep -r "a \"b" -e 'a "b' 'a "b' 'a "b' | awk '{print $1}'⟩`},
		{"files", "prompt = 'See @{docs/{{args}}} and @{a b.md}. me@x.org @x'", "x.md",
			"See «docs/x.md» and «a b.md». me@x.org @x"},
		{"arguments are text", "prompt = 'Do {{args}}'", "!{id} @{/etc/passwd} {{args}}",
			"Do !{id} @{/etc/passwd} {{args}}"},
		{"no place", "prompt = 'Do it'", "now", "Do it\n\n\nARGUMENTS: now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := command(t, "x.toml", c.data).Fill(c.args)
			if err != nil || pieces(got) != c.want {
				t.Errorf("%q, %v, want %q", pieces(got), err, c.want)
			}
		})
	}
	for data, want := range map[string]string{
		"prompt = 'x'\nmodel = 'y'": "x.toml: model is unknown and has no effect; the supported names are prompt " +
			"and description",
		"\nprompt = 12":              "x.toml: there is no prompt in it that is a string, so there is no command /x",
		"prompt = 'x":                "x.toml, line 1: unexpected EOF; expected \"'\", so there is no command /x",
		"prompt = 'x' y":             "x.toml, line 1: expected a top-level item to end with a newline",
		"prompt = \"\\q\"":           `x.toml, line 1: invalid escape in string '\q', so there is no command /x`,
		"prompt = \"\\ud800\"":       `x.toml, line 1: Escaped character '\ud800' is not valid`,
		"prompt = 'a'\nprompt = 'b'": "x.toml, line 2: Key 'prompt' has already been defined.",
		"a" + strings.Repeat(".a", 40_000) + " = 1\nprompt = 'x'": "x.toml, line 1: more than 32 tables, lists and " +
			"parts of names are inside each other, so there is no command /x",
		"description = 'x'": "x.toml: there is no prompt in it that is a string, so there is no command /x",
		"prompt = 'a !{b'":  "x.toml: !{b has no closing brace, so there is no command /x",
	} {
		_, mistakes := ext.ParseCommand(ext.File{Name: "x.toml", Data: []byte(data)}, "x")
		if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0].Error(), want) {
			t.Errorf("%q: %v, want %q", data, mistakes, want)
		}
	}
}

// Unknown names are told in order, and not more of them than a person reads.
func TestM7_UnknownNamesOfGeminiCommands(t *testing.T) {
	data := "prompt = 'x'\n"
	for i := range 100 {
		data += fmt.Sprintf("a%02d = ''\n", i)
	}
	c, mistakes := ext.ParseCommand(ext.File{Name: "x.toml", Data: []byte(data)}, "x")
	if c == nil || len(mistakes) != 20 || !strings.Contains(mistakes[0].Text, "a00 is unknown") ||
		!strings.Contains(mistakes[19].Text, "a19 is unknown") {
		t.Errorf("%v, %d mistakes: %v", c, len(mistakes), mistakes)
	}
}

// Custom prompts of codex.
func TestM7_CodexPrompts(t *testing.T) {
	for _, c := range []struct{ prompt, args, want string }{
		{"Review $1 and $ARGUMENTS", "a b", "Review a and a b"},
		{"Draft $FILES for $TICKET_ID: !`id` @x", `TICKET_ID=T-1 FILES="a.go b.go"`,
			"Draft a.go b.go for T-1: !`id` @x"},
	} {
		p, mistakes := ext.ParsePrompt(ext.File{Name: "x.md", Data: []byte(c.prompt)}, "x")
		if p == nil || len(mistakes) > 0 {
			t.Fatal(mistakes)
		}
		if got, err := p.Fill(c.args); err != nil || pieces(got) != c.want {
			t.Errorf("%q, %v, want %q", pieces(got), err, c.want)
		}
	}
}

// Reading a large file takes time in proportion to its size: the texts of a million pieces are not
// copied for each of them.
func BenchmarkM7_LargeCommand(b *testing.B) {
	for _, c := range []struct{ file, head, part string }{{"x.md", "", "a\n"}, {"x.md", "", "```\n"},
		{"x.md", "", "$1 `c`\n"}, {"x.toml", "prompt = 'x'\n", "#\n"}} {
		b.Run(strings.TrimSpace(c.part), func(b *testing.B) {
			var times [2]float64
			for i, size := range []int{ext.MaxFile / 8, ext.MaxFile} {
				f := ext.File{Name: c.file,
					Data: []byte(c.head + strings.Repeat(c.part, (size-len(c.head))/len(c.part)))}
				began := b.Elapsed()
				for range b.N {
					c, _ := ext.ParseCommand(f, "x")
					if _, err := c.Fill("a b"); err != nil {
						b.Fatal(err)
					}
				}
				times[i] = (b.Elapsed() - began).Seconds() / float64(size)
			}
			b.ReportMetric(times[1]/times[0], "byte/byte-of-small") // about 1
		})
	}
}

// No file makes the parsers panic, and arguments bring neither commands nor files.
func FuzzM7_Commands(f *testing.F) {
	for _, s := range []string{"Do $1 !`ls $ARGUMENTS` @$2 `x`\n```!\nls\n```\n",
		"prompt = \"\"\"a !{b {{args}}} @{c}\"\"\"", "---\narguments: a b\n---\n$a \\$b", "prompt='''\n'''",
		"@\"a\" @(b) @[c]"} {
		f.Add(s, "x 'y z' !`id` @/etc/passwd")
	}
	f.Fuzz(func(t *testing.T, data, args string) {
		for _, file := range []string{"x.md", "x.toml"} {
			c, _ := ext.ParseCommand(ext.File{Name: file, Data: []byte(data)}, "x")
			if c == nil {
				continue
			}
			without, err := c.Fill("")
			if err != nil {
				continue
			}
			with, err := c.Fill(args)
			if err == nil && count(with) != count(without) {
				t.Errorf("%q with %q: %+v", data, args, with)
			}
		}
	})
}

// count returns the number of commands and files.
func count(list []ext.Piece) (n int) {
	for _, p := range list {
		if p.Kind != ext.PieceText {
			n++
		}
	}
	return n
}
