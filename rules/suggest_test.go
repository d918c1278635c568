package rules_test

import (
	"slices"
	"testing"

	"github.com/attractor-go/attractor/tool"
)

// What is suggested answers the question from then on, and does not allow other things.
func TestL3_Suggestions(t *testing.T) {
	p := newProject(t, "a.go", ".env", "d/x")
	for _, c := range []struct {
		script  string
		suggest []string
	}{
		{"go test ./...", []string{"Bash(go test:*)"}},
		{"go test ./... 2>&1 | tail -5", []string{"Bash(go test:*)"}},
		{"cd d && go test ./...", []string{"Bash(go test:*)"}},
		{"go mod tidy && go vet ./...", []string{"Bash(go mod tidy:*)", "Bash(go vet:*)"}},
		{"git add -A && git commit -m 'a b'", []string{"Bash(git add:*)", "Bash(git commit:*)"}},
		{"npm run build", []string{"Bash(npm run build:*)"}},
		{"npm test", []string{"Bash(npm test:*)"}},
		{"pytest -q", []string{"Bash(pytest:*)"}},
		{"git push origin main", []string{"Bash(git push origin main)"}},
		{"git -c a=b commit", []string{"Bash(git -c a=b commit)"}},
		{"git config --global x y", []string{"Bash(git config --global x y)"}},
		{"python3 x.py", []string{"Bash(python3 x.py)"}},
		{"bash x.sh", []string{"Bash(bash x.sh)"}},
		{"env make", []string{"Bash(env make)"}},
		{"sudo make install", []string{"Bash(sudo make install)"}},
		{"xargs rm", []string{"Bash(xargs rm)"}},
		{"rm *.o", []string{`Bash(rm \*.o)`}},
		{"rm 'a*b'", []string{`Bash(rm 'a\*b')`}},
		{`rm \*.o`, nil},
		{"echo \"x", nil},
		{"rm a\nrm b", nil},
		{"go run example.test/x@latest", []string{"Bash(go run example.test/x@latest)"}},
		{"./build.sh", []string{"Bash(./build.sh)"}},
		{"FOO=1 go test ./...", []string{"Bash(FOO=1 go test ./...)"}},
		{"cat .env", []string{"Read(./.env)"}},
		{"cat /etc/hostname", []string{"Read(//etc/hostname)"}},
		{"cat /usr/include/stdio.h", []string{"Read(//usr/include/**)"}},
		{"cat /proc/1/environ", []string{"Bash(cat /proc/1/environ)"}},
		{"go test ./... > out", []string{"Bash(go test:*)", "Edit(./**)"}},
	} {
		s := p.load(`{}`)
		d := p.command(s, c.script)
		if d.Verdict != tool.Ask || !slices.Equal(d.Suggest, c.suggest) {
			t.Errorf("%s: %s (%s), suggests %q, want %q", c.script, d.Verdict, d.Reason, d.Suggest, c.suggest)
			continue
		}
		if d.Suggest == nil {
			continue
		}
		if err := s.Allow(d.Suggest...); err != nil {
			t.Errorf("%s: %v", c.script, err)
		}
		if d := p.command(s, c.script); d.Verdict != tool.Allow {
			t.Errorf("%s: with %q it is still %s (%s)", c.script, c.suggest, d.Verdict, d.Reason)
		}
		for _, other := range []string{"curl x.test", "rm -rf x", "git push --force", "python3 -c 1", "cat id_rsa",
			"echo x > .envrc", "rm .o a", "rm 'aXb'"} {
			if d := p.command(s, other); d.Verdict == tool.Allow {
				t.Errorf("%s: %q also allows %s", c.script, c.suggest, other)
			}
		}
	}
}

func TestL3_SuggestionsForTools(t *testing.T) {
	p := newProject(t, "a.go", ".env", ".claude/settings.json")
	for _, c := range []struct {
		path    string
		suggest []string
	}{
		{"a.go", []string{"Edit(./**)"}},
		{"AGENTS.md", []string{"Edit(./AGENTS.md)"}},
		{".idea/x.xml", []string{"Edit(./.idea/x.xml)"}},
		{".claude/settings.json", nil}, // guarded: asked each time
	} {
		s := p.load(`{}`)
		args := map[string]string{"file_path": c.path, "content": "x"}
		d := p.decide(s, "write_file", args)
		if d.Verdict != tool.Ask || !slices.Equal(d.Suggest, c.suggest) {
			t.Errorf("%s: %s, suggests %q, want %q", c.path, d.Verdict, d.Suggest, c.suggest)
		}
		if err := s.Allow(d.Suggest...); err != nil {
			t.Error(err)
		}
		if d := p.decide(s, "write_file", args); (d.Verdict == tool.Allow) != (c.suggest != nil) {
			t.Errorf("%s: then it is %s", c.path, d.Verdict)
		}
	}
	s := p.load(`{"ask": ["Bash(make:*)"]}`)
	if d := p.command(s, "make x"); d.Suggest != nil {
		t.Errorf("suggests %q although a rule asks", d.Suggest)
	}
	if err := s.Allow("Bash(make:*)", "Bsh(x)"); err == nil {
		t.Error("a wrong rule was added")
	}
	if d := p.command(s, "true; make"); d.Verdict != tool.Ask {
		t.Error("a rule that allows overrules one that asks")
	}
}
