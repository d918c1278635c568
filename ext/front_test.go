package ext_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/ext"
)

// read holds what the methods of a Front return for the fields of the tests.
type read struct {
	Description, Hint string
	Tools, Paths      []string
	Hidden            bool
	Metadata          map[string]string
	Body              string
	BodyLine          int
	Mistakes          []string
}

// readFront reads a file as the formats do.
func readFront(data string) read {
	p := ext.ParseFront(ext.File{Name: "a.md", Data: []byte(data)})
	r := read{Description: p.Text("description"), Hint: p.Text("argument-hint"), Tools: p.Words("allowed-tools"),
		Paths:  p.List("paths"),
		Hidden: p.Bool("hidden", false), Metadata: p.Map("metadata"), Body: p.Body, BodyLine: p.BodyLine}
	p.Unsupported("agents run commands with one shell", "shell")
	for _, m := range p.Mistakes() {
		r.Mistakes = append(r.Mistakes, m.Error())
	}
	return r
}

// Files as they are found in public repositories, most of them not quite YAML.
func TestM6_FrontMatter(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       read
	}{
		{"plain", "---\ndescription: Makes a release\nallowed-tools: Read, Grep\n---\nBody\n",
			read{Description: "Makes a release", Tools: []string{"Read", "Grep"}, Body: "Body\n", BodyLine: 5}},
		{"none", "# Title\n\nText\n---\nMore\n", read{Body: "# Title\n\nText\n---\nMore\n", BodyLine: 1}},
		{"empty", "", read{BodyLine: 1}},
		{"nothing in it", "---\n---\nBody", read{Body: "Body", BodyLine: 3}},
		{"only comments", "---\n# nothing\n---\nBody", read{Body: "Body", BodyLine: 4}},
		{"a rule is no front matter", "---", read{Body: "---", BodyLine: 1}},
		{"BOM, CRLF and spaces", "\ufeff--- \r\ndescription: one\r\nhidden: yes\r\n---\t\r\nBody\r\nline\r\n",
			read{Description: "one", Hidden: true, Body: "Body\nline\n", BodyLine: 5}},
		{"lines before it", "\n\n---\ndescription: one\nx: 1\n---\nBody", read{Description: "one", Body: "Body",
			BodyLine: 7,
			Mistakes: []string{"a.md, line 5: unknown fields have no effect: x; the supported fields are " +
				"description, argument-hint, allowed-tools, paths, hidden, metadata"}}},
		{"a colon in the description",
			"---\ndescription: Use when building workflows: clips, reframing. Triggers on: 'video'\nallowed-tools: " +
				"Bash(git add:*), Bash(git log --grep \"a, b\")\n---\n",
			read{Description: "Use when building workflows: clips, reframing. Triggers on: 'video'",
				Tools: []string{"Bash(git add:*)", `Bash(git log --grep "a, b")`}, BodyLine: 5}},
		{"a colon in a continued description",
			"---\ndescription:\n  Reviews a plan.\n  Pairs with the design skill: grill first,\n  then build.\n" +
				"hidden: true\n---\n",
			read{Description: "Reviews a plan. Pairs with the design skill: grill first, then build.", Hidden: true,
				BodyLine: 8}},
		{"quotes and what follows", "---\ndescription: \"Reads\" and writes\nhidden: true\n---\n",
			read{Description: `"Reads" and writes`, Hidden: true, BodyLine: 5,
				Mistakes: []string{"a.md, line 2: the value of description is not valid YAML (did not find expected " +
					"key), so it is read as it is written"}}},
		{"block text", "---\ndescription: |\n  One: two\n  three\nargument-hint: >-\n  a\n  b\n---\n",
			read{Description: "One: two\nthree", Hint: "a b", BodyLine: 9}},
		{"hints look like lists", "---\nargument-hint: [issue-number]\n---\n", read{Hint: "[issue-number]",
			BodyLine: 4}},
		{"hints look like several lists", "---\nargument-hint: [from] [to]\n---\n",
			read{Hint: "[from] [to]", BodyLine: 4}},
		{"hints look like tags and anchors",
			"---\nargument-hint: !file\ndescription: &what it is\nallowed-tools: *\n---\n",
			read{Hint: "!file", Description: "&what it is", Tools: []string{"*"}, BodyLine: 6}},
		{"lists", "---\nallowed-tools:\n  - Read\n  - Bash(git log:*)\npaths: [\"src/**/*.{ts,tsx}\", 'a b']\n---\n",
			read{Tools: []string{"Read", "Bash(git log:*)"}, Paths: []string{"src/**/*.{ts,tsx}", "a b"}, BodyLine: 7}},
		{"lists at the margin", "---\nallowed-tools:\n- Read\n- Grep\ndescription: a: b\n---\n",
			read{Tools: []string{"Read", "Grep"}, Description: "a: b", BodyLine: 7}},
		{"commas in brackets", "---\nallowed-tools: [Bash(a, b), Read]\npaths: src/*.{go,mod}, x\n---\n",
			read{Tools: []string{"Bash(a, b)", "Read"}, Paths: []string{"src/*.{go,mod}", "x"}, BodyLine: 5}},
		{"words", "---\nallowed-tools: Read Bash(git diff *) mcp__github\n---\n",
			read{Tools: []string{"Read", "Bash(git diff *)", "mcp__github"}, BodyLine: 4}},
		{"values of other types",
			"---\ndescription: 12\nhidden: TRUE\nargument-hint: ~\nmetadata:\n  version: 1.0\n  tags: [a]\n---\n",
			read{Description: "12", Hidden: true, Metadata: map[string]string{"version": "1.0"}, BodyLine: 9}},
		{"mistakes", "---\ndescription:\n  a: b\nhidden: maybe\nshell: powershell\nmetadata: x\nallowed-tools: {a: " +
			"b}\nhidden: true\n---\n", read{BodyLine: 10, Mistakes: []string{
			"a.md, line 2: description has to be text, not a list or fields of its own, so it has no effect",
			"a.md, line 4: hidden has to be true or false, not maybe, so it has no effect",
			"a.md, line 5: shell has no effect: agents run commands with one shell",
			"a.md, line 6: metadata has to be fields of its own, each on a line below it, so it has no effect",
			"a.md, line 7: allowed-tools has to be a list or text, not fields of its own, so it has no effect",
			"a.md, line 8: there is a second hidden, which is not used"}}},
		{"no end", "---\ndescription: one\n\nBody\n", read{Body: "---\ndescription: one\n\nBody\n", BodyLine: 1,
			Mistakes: []string{"a.md, line 1: the front matter has no end: a line of three hyphens (---)"}}},
		{"tabs", "---\ndescription: one\nmetadata:\n\tversion: 1\n---\n", read{Description: "one", BodyLine: 6,
			Mistakes: []string{
				"a.md, line 3: metadata has to be fields of its own, each on a line below it, so it has no effect"}}},
		{"what cannot be seen", "---\ndescription: \"a\\e[31mb\\u202e\"\n---\nx\x1b[0m\u200b",
			read{Description: `a\u{1b}[31mb\u{202e}`, Body: `x\u{1b}[0m\u{200b}`, BodyLine: 4}},
		{"not UTF-8", "---\ndescription: caf\xe9\n---\n\xff", read{Description: "caf\ufffd", Body: "\ufffd",
			BodyLine: 4, Mistakes: []string{"a.md: the file is not UTF-8 text"}}},
		{"aliases are text", "---\na: &a [x, x]\nb: &b [*a, *a]\nallowed-tools: [*b, *b]\nmetadata: {c: *b}\n" +
			"description: *a\n---\n", read{BodyLine: 8, Tools: []string{"*b", "*b"}, Description: "*a",
			Metadata: map[string]string{},
			Mistakes: []string{"a.md, line 2: unknown fields have no effect: a, b; the supported fields are " +
				"description, argument-hint, allowed-tools, paths, hidden, metadata"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, readFront(c.data)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestM6_FrontMatterIsBounded(t *testing.T) {
	for _, c := range []struct{ name, data, mistake string }{
		{"file", "---\ndescription: one\n---\n" + strings.Repeat("x", ext.MaxFile),
			"a.md: the file has more than 1024 KiB, so it is not used"},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", "a.md: the file has NUL bytes, so it is not used: save it as " +
			"UTF-8 text"},
		{"front matter", "---\ndescription: " + strings.Repeat("x", 64<<10) + "\n---\nBody",
			"a.md, line 1: the front matter has more than 64 KiB, so it is not used"},
		{"fields", "---\n" + fields(5000) + "---\nBody",
			"a.md, line 102: there are more than 100 fields; the others are not used"},
		{"fields that are no YAML", "---\ndescription: a: b\n" + fields(5000) + "---\nBody",
			"a.md, line 102: there are more than 100 fields; the others are not used"},
		{"nested", "---\ndescription: " + strings.Repeat("[", 20_000) + "\n---\nBody",
			"a.md, line 2: the value of description is not valid YAML (exceeded max depth of 10000), so it is read " +
				"as it is written"},
		{"a long error", "---\ndescription: [*" + strings.Repeat("a", 40_000) + "\n---\nBody",
			"a.md, line 2: the value of description is not valid YAML (unknown anchor '" + strings.Repeat("a",
				484) + "...), so it is read as it is written"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readFront(c.data)
			if len(r.Mistakes) == 0 || r.Mistakes[0] != c.mistake {
				t.Errorf("the mistakes are %q", r.Mistakes)
			}
			if want := c.name != "file" && c.name != "UTF-16"; (r.Body == "Body") != want {
				t.Errorf("the body has %d bytes", len(r.Body))
			}
		})
	}
}

func fields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: x\n", i)
	}
	return b.String()
}

// No front matter makes the parser panic or lose the text after it, and what it returns is clean.
func FuzzM6_FrontMatter(f *testing.F) {
	for _, s := range []string{"", "---\n---\n", "---\ndescription: a: b\n---\nx",
		"---\nallowed-tools: [a, 'b', c(d, e)]\nmetadata:\n  a: 1\n---\n",
		"---\na: &a [*a]\ndescription: |\n  x\n---\n", "\ufeff---\r\npaths: \"{a,b}\"\r\n---\r\n",
		"---\n? a\n: b\n---\n", "---\n!!binary a: b\n---\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		r := readFront(data)
		for _, text := range append([]string{r.Description, r.Hint, r.Body},
			append(r.Mistakes, append(r.Tools, r.Paths...)...)...) {
			if strings.ContainsAny(text, "\x1b\u202e\ufeff\r") {
				t.Errorf("%q is not clean", text)
			}
		}
		if r.BodyLine < 1 || r.BodyLine > strings.Count(data, "\n")+2 {
			t.Errorf("the body begins at line %d", r.BodyLine)
		}
	})
}
