package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// The files of a call are those that its tool names, and those that the commands of its script read
// and write.
func TestM10_FilesOfCalls(t *testing.T) {
	p := newProject(t, "a", "sub/b", "sub/c.go", "sub/d.go")
	set, err := rules.Load(p.dirs())
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		`read_file {"file_path":"sub/b"}`:                           "sub/b",
		`grep {"pattern":"x","path":"sub"}`:                         "",
		`shell {"command":"cat sub/b"}`:                             "sub/b",
		`shell {"command":"cd sub && head -n 3 b | sort > sorted"}`: "sub/b sub/sorted",
		`shell {"command":"sed -n 1,5p sub/*.go"}`:                  "sub/c.go sub/d.go",
		`shell {"command":"wc -l < sub/b; ls sub; grep -rn x sub"}`: "sub/b",
	} {
		name, text, _ := strings.Cut(args, " ")
		var got []string
		for _, file := range set.Files(t.Context(), p.env, p.requestText(p.env, tools(t), name, text)) {
			got = append(got, strings.TrimPrefix(file, p.dir+"/"))
		}
		slices.Sort(got)
		if strings.Join(slices.Compact(got), " ") != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	if !rules.HoldsSecrets("/x/.env") || !rules.HoldsSecrets("/home/me/.aws/config") ||
		rules.HoldsSecrets("/x/env.md") {
		t.Error("the files with secrets are not those of the table")
	}
}

// A file system may find a file by names in another case or normal form, and with characters that
// it ignores.
func TestL1_OtherSpellings(t *testing.T) {
	p := newProject(t)
	s := p.load(`{"deny": ["Read(./private/**)", "Read(./g\u00e9heim/stra\u00dfe)", "Edit(/a.txt)",
		"Read(./up/[^a-z]*)", "Read(./to/[A-_]x)"]}`)
	decides := func(of, name string, want tool.Verdict, edits bool) {
		t.Helper()
		d := p.decide(s, of, map[string]any{"file_path": name, "content": "x"})
		if d.Verdict != want || d.Edits != edits {
			t.Errorf("%s %q: %v, edits %v: %s", of, name, d.Verdict, d.Edits, d.Reason)
		}
	}
	for _, name := range []string{"private/x", "PRIVATE/x", "Pr\u0131vate/x", "p\u200drivate/x", "G\u00c9HEIM/STRASSE",
		"ge\u0301heim/stra\u1e9ee", "private.txt"} {
		want := tool.Deny
		if name == "Pr\u0131vate/x" || name == "private.txt" { // which no file system takes for the same
			want = tool.Allow
		}
		decides("read_file", name, want, false)
	}
	for _, name := range []string{"up/X", "up/1", "to/_x", "to/Bx"} { // classes mean the letters that they have
		decides("read_file", name, tool.Deny, false)
	}
	decides("read_file", "up/x", tool.Allow, false)
	for _, name := range []string{"A.TXT", "a.\u200btxt"} {
		decides("write_file", name, tool.Deny, false)
	}
	for _, name := range []string{"\u017fecrets.json", "SECRETS.JSON", ".\u200benv", "id_r\u017fa",
		"\u2060.a\u017fw\u017f/x.pem",
		"my.\u212aey"} {
		decides("read_file", name, tool.Ask, false)
	}
	for _, name := range []string{"node_module\u017f/p.js", "\ufb02ake.nix", "ru\ufb06-toolchain.toml",
		"AGENT\u017f.md", "\u200b.idea/x",
		"\u200b.odd", ".v\u017fcode/tasks.json", "git~1/config", "HEAD "} {
		decides("write_file", name, tool.Ask, false)
	}
	decides("write_file", "stra\u00dfe.md", tool.Ask, true)
	p.write("data/conf", "")
	p.write("tools/x", "")
	p.link("data/conf", ".env")
	p.link("tools", ".vscode")
	dirs := p.dirs()
	dirs.Local = machine{}
	var err error
	if s, err = rules.Load(dirs); err != nil {
		t.Fatal(err)
	}
	decides("read_file", "DATA/conf", tool.Ask, false)
	decides("write_file", "TOOLS/x", tool.Ask, false)
}
