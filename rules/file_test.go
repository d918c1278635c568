package rules_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

func TestL1_MistakesAreAllToldWithTheirLine(t *testing.T) {
	p := newProject(t)
	file := `{
  "model": {"permissions": 1},
  "permissions": {
    "allow": [
      "Bash(go test:*)",
      "Bsh(ls)",
      {"rule": "Bash(git push:*)", "match": ["git push origin", "git pushx"], "not_match": ["git push"], "because": "x"},
      "Bash(git:* push)", "Read()", 7
    ],
    "alow": [],
    "deny": ["Read(!x)", "WebFetch(go.dev)", "mcp__x__y(z)", "Read([a)", "Bash(echo 'x)", "Ba*", "(", "Bash()", "WebFetch(domain:https://x)", "WebFetch(domain:*.*)", "Agent()"],
    "deny": []
  }
}`
	_, err := rules.Load(p.dirs(), rules.Source{Name: "a.json", Data: []byte(file)}, rules.Source{Name: "b.json",
		Data: []byte("{\n\"permissions\": {},\n}")},
		rules.Source{Name: "c.json", Data: []byte(`{"permissions": {"allow": "Bash"}}`)},
		rules.Source{Name: "d.json", Data: []byte(`{"allow": ["Bash"]}`)},
		rules.Source{Name: "e.json", Data: []byte(`[]`)}, rules.Source{Name: "f.json"},
		rules.Source{Name: "g.json", Data: []byte("// rules\n{}")},
		rules.Source{Name: "h.json", Data: []byte("{}")},
		rules.Source{Name: "i.json", Data: []byte(`{"permissions": {}} x`)},
		rules.Source{Name: "j.json", Data: make([]byte, rules.MaxFile+1)})
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	for _, want := range []string{
		`a.json:6: Bsh(ls): there is no tool Bsh; did you mean Bash?`,
		`a.json:7: "because" is not a member of a rule; its members are rule, reason, match and not_match`,
		`a.json:7: the rule Bash(git push:*) does not match its example "git pushx"`,
		`a.json:7: the rule Bash(git push:*) matches "git push", which is an example of what it must not match`,
		`a.json:8: the pattern of Bash(git:* push) cannot be used: ":*" can stand only at its end`,
		`a.json:8: the pattern of Read() cannot be used: it is empty`,
		`a.json:8: a rule is a string`,
		`a.json:10: "alow" is not a member of permissions; its members are allow, ask, deny`,
		`a.json:11: the pattern of Read(!x) cannot be used: it begins with !`,
		`a.json:11: the pattern of WebFetch(go.dev) cannot be used: for WebFetch it has to be domain:NAME`,
		`a.json:11: the pattern of mcp__x__y(z) cannot be used: the tool mcp__x__y takes no pattern`,
		`a.json:11: the pattern of Read([a) cannot be used: it can match nothing`,
		`a.json:11: the pattern of Bash(echo 'x) cannot be used: a quote in it is not closed`,
		`a.json:11: Ba* has a star in a tool's name`,
		`a.json:11: "(" is not a rule; a rule is a tool's name such as Bash`,
		`a.json:11: the pattern of Bash() cannot be used: it is empty`,
		`a.json:11: the pattern of WebFetch(domain:https://x) cannot be used: "https://x" is not the name of a host`,
		`a.json:11: the pattern of WebFetch(domain:*.*) cannot be used: "*.*" is not the name of a host`,
		`a.json:11: the pattern of Agent() cannot be used: it is empty`,
		`a.json:12: "deny" is there twice`,
		`b.json: line 3: it is not JSON`,
		`c.json:1: allow is a list of rules`,
		`d.json:1: "allow" is not a member of a settings file; the rules go into "permissions"`,
		`e.json:1: a settings file is an object such as`,
		`f.json: line 1: the file ends too early`,
		`g.json: line 1: JSON has no comments: remove them`,
		`h.json:1: the file has no rules`,
		`i.json: line 1: there is something after the end of the JSON value`,
		`j.json: the file has more than 1048576 bytes`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if lines := strings.Count(text, "\n") + 1; lines != 29 {
		t.Errorf("%d lines:\n%s", lines, text)
	}
}

func TestL1_ExamplesOfEveryKind(t *testing.T) {
	p := newProject(t)
	p.load(`{"allow": [
		{"rule": "Bash(git log:*)", "match": ["git log", "git log -p && git log", "timeout 5 git log"], "not_match": ["git logout", "git log && ls", "git log $X"]},
		{"rule": "Read(./secrets/**)", "match": ["secrets", "secrets/a/b"], "not_match": ["x/secrets", "secretsx"]},
		{"rule": "WebFetch(domain:go.dev)", "match": ["go.dev", "https://GO.dev:443/x"], "not_match": ["https://x.go.dev/", "https://go.dev.x/"]}],
	"deny": [
		{"rule": "Bash(rm:*)", "match": ["ls; /bin/rm x", "echo $(rm x)"], "not_match": ["ls rm", "rmdir x"]},
		{"rule": "WebFetch(domain:*.go.dev)", "match": ["x.go.dev"], "not_match": ["go.dev", "xgo.dev"]},
		{"rule": "WebFetch(domain:go.dev)", "match": ["x.go.dev"]},
		{"rule": "Agent(review*)", "match": ["reviewer"], "not_match": ["writer"]}]}`)
	if _, err := rules.Load(p.dirs(), source(`{"allow": [{"rule": "Bash", "match": ["ls"]}]}`)); err == nil ||
		!strings.Contains(err.Error(), "needs no examples") {
		t.Error(err)
	}
}

// The deny and ask rules of every file count, but rules that allow only the user's and a trusted
// project's.
func TestL1_OriginsAndForeignFiles(t *testing.T) {
	p := newProject(t)
	data := []byte(`{"permissions": {"allow": ["Bash(make:*)"], "deny": ["Bash(curl:*)"], "ask": ["Bash(pwd)"], "defaultMode": "bypassPermissions", "additionalDirectories": ["/etc"]},
		"env": {"PATH": "/x"}, "apiKeyHelper": "x", "hooks": {}}`)
	for origin, want := range map[rules.Origin]string{rules.User: "allow", rules.Project: "ask",
		rules.TrustedProject: "allow"} {
		s, err := rules.Load(p.dirs(), rules.Source{Name: "settings.json", Data: data, Origin: origin})
		if err != nil {
			t.Fatal(err)
		}
		for script, want := range map[string]string{"make x": want, "curl x": "deny", "pwd": "ask", "touch x": "ask",
			"cat /etc/hostname": map[rules.Origin]string{rules.User: "allow"}[origin]} {
			if want == "" {
				want = "ask"
			}
			if d := p.command(s, script); d.Verdict.String() != want {
				t.Errorf("origin %d: %s: %s (%s), want %s", origin, script, d.Verdict, d.Reason, want)
			}
		}
	}
	foreign := rules.Source{Name: "s.json", Foreign: true,
		Data: []byte(`{"permissions": {"new": 1, "allow": ["Bash(node -e \":*)", "PowerShell(ls)", "Bash(ls)"], "deny": ["PowerShell(rm)"]}}`)}
	s, err := rules.Load(p.dirs(), foreign, rules.Source{Name: "empty.json", Foreign: true,
		Data: []byte(`{"model": "x"}`)})
	if err != nil || len(s.Warnings()) != 4 {
		t.Fatal(err, s.Warnings())
	}
	foreign.Data = []byte(`{"permissions": {"deny": ["Bash(node -e \":*)"]}}`)
	if _, err := rules.Load(p.dirs(), foreign); err == nil {
		t.Error("a deny rule that cannot be read is accepted")
	}
}

// A pattern that begins with / starts at the directory of its file, others at the working
// directory.
func TestL1_WherePatternsStart(t *testing.T) {
	p := newProject(t, "sub/x", "sub/sub/x", "x")
	base := func(pattern, dir string) *rules.Set {
		s, err := rules.Load(p.dirs(), rules.Source{Name: "r", Dir: dir,
			Data: []byte(`{"permissions": {"deny": ["Read(` + pattern + `)"]}}`)})
		if err != nil {
			t.Fatal(pattern, err)
		}
		return s
	}
	for _, c := range []struct{ pattern, dir, denied, not string }{
		{"/x", "", "x", "sub/x"},
		{"/x", p.dir + "/sub", "sub/x", "x"},
		{"x", p.dir + "/sub", "x", ""},
		{"x", "", "sub/sub/x", ""},
		{"./x", "", "x", "sub/x"},
		{"sub/x", "", "sub/x", "sub/sub/x"},
		{"**/x", "", "sub/sub/x", ""},
		{"/" + p.dir + "/sub/**", "", "sub/x", "x"},
		{"../work/x", "", "x", "sub/x"},
		{"~/../work/sub", "", "", "sub/x"},
		{"*", "", "x", ""},
		{"**", "", "sub/x", ""},
		{"./**", "", "sub/x", ""},
		{"../**", "", "sub/x", ""},
		{"//**", "", "sub/x", ""},
		{"[s]ub/", "", "sub/x", "x"},
	} {
		s := base(c.pattern, c.dir)
		for name, want := range map[string]tool.Verdict{c.denied: tool.Deny, c.not: tool.Allow} {
			if name == "" {
				continue
			}
			if d := p.decide(s, "read_file", map[string]string{"file_path": name}); d.Verdict != want {
				t.Errorf("Read(%s) from %q: %s is %s", c.pattern, c.dir, name, d.Verdict)
			}
		}
	}
}

// Rules for single projects are a mistake where they cannot count, and so are rules beside the
// permissions of a project.
func TestX2_RulesForProjectsThatCannotCount(t *testing.T) {
	p := newProject(t)
	const file = `{"projects": {"/p": {"permissions": {}, "deny": ["Bash(rm:*)"]}}}`
	for want, source := range map[string]rules.Source{
		`a.json:1: "projects" counts only in your own file of rules`: {Name: "a.json"},
		`a.json:1: "deny" is not a member of a project; the rules`:   {Name: "a.json", Project: "/p"},
		"": {Name: "a.json", Projects: true},
	} {
		source.Data = []byte(file)
		if _, err := rules.Load(p.dirs(), source); (err == nil) != (want == "") || err != nil &&
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
