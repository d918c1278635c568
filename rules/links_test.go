package rules_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// A rule that denies or asks is about the files that it names, under whatever name they are used:
// also if the directories in its own name are links.
func TestU23_RulesOfLinkedDirectories(t *testing.T) {
	p := newProject(t, "secretdir/s.txt", "rel1/x.txt", "rel1/sub/y.txt", "open.txt")
	p.link("rel1", "cur")
	if err := os.WriteFile(filepath.Join(p.home, "diary.txt"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	base := filepath.Dir(p.dir)
	linked := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(base, linked); err != nil {
		t.Fatal(err)
	}
	permissions := `{"deny": ["Read(./secretdir/**)", "Read(~/diary.txt)", "Edit(~/diary.txt)", "Read(./cur/**)",
		"Edit(./cur/*.txt)"], "allow": ["Read(./**)", "Edit(//**)"]}`
	for name, c := range map[string]struct{ work, home string }{
		"the working directory is a link": {linked + "/work", p.home},
		"the home directory is a link":    {p.dir, linked + "/home"},
		"neither is":                      {p.dir, p.home},
	} {
		e, err := env.NewLocal(c.work, env.LocalOptions{Containment: env.ContainGroup, Roots: []string{p.home}})
		if err != nil {
			t.Fatal(err)
		}
		set, err := rules.Load(rules.Dirs{Work: c.work, Home: c.home, Resolve: rules.RealPath, Local: machine{}},
			source(permissions))
		if err != nil {
			t.Fatal(err)
		}
		decide := func(name string, args map[string]string) tool.Verdict {
			return set.Decide(t.Context(), e, p.request(e, tools(t), name, args)).Verdict
		}
		for _, top := range []string{base, linked} {
			for _, file := range []string{"work/secretdir/s.txt", "home/diary.txt", "work/rel1/x.txt",
				"work/cur/x.txt"} {
				file = filepath.Join(top, file)
				if v := decide("read_file", map[string]string{"file_path": file}); v != tool.Deny {
					t.Errorf("%s: reading %s is %v", name, file, v)
				}
				if v := decide("shell", map[string]string{"command": "cat " + file}); v != tool.Deny {
					t.Errorf("%s: cat %s is %v", name, file, v)
				}
			}
			for _, file := range []string{"home/diary.txt", "work/rel1/x.txt"} {
				file = filepath.Join(top, file)
				if v := decide("write_file", map[string]string{"file_path": file, "content": "x"}); v != tool.Deny {
					t.Errorf("%s: writing %s is %v", name, file, v)
				}
			}
			if v := decide("shell", map[string]string{"command": "grep -r x " + top + "/work"}); v != tool.Ask {
				t.Errorf("%s: a search of %s is %v", name, top, v)
			}
			for _, file := range []string{"work/open.txt", "work/rel1/sub/y.txt"} {
				file = filepath.Join(top, file)
				if v := decide("write_file", map[string]string{"file_path": file, "content": "x"}); v != tool.Allow {
					t.Errorf("%s: writing %s is %v", name, file, v)
				}
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A rule that allows does not become wider by a link in its own name.
func TestU23_RulesThatAllowAndLinks(t *testing.T) {
	p := newProject(t, "inside.txt")
	p.link(p.home, "out")
	set, err := rules.Load(rules.Dirs{Work: p.dir, Home: p.home, Resolve: rules.RealPath, Local: machine{}},
		source(`{"allow": ["Edit(./out/**)", "Read(./out/**)"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(p.home, "x.txt"), "out/x.txt"} {
		d := p.decide(set, "write_file", map[string]string{"file_path": name, "content": "x"})
		if d.Verdict == tool.Allow {
			t.Errorf("%s may be written: %s", name, d.Rule)
		}
	}
}

// What a link with the name of a secret leads to asks like the link.
func TestU23_SecretsThatAreLinks(t *testing.T) {
	p := newProject(t, "dev.settings", "dot/netrc", "dot/ssh/id", "open.txt", ".env.example", "keys/one", "sub/x")
	p.link("dev.settings", ".env")
	p.link(".env.example", ".env.local")
	p.link("../keys", "sub/.aws")
	for name, to := range map[string]string{".netrc": "dot/netrc", ".ssh": "dot/ssh"} {
		if err := os.Symlink(filepath.Join(p.dir, to), filepath.Join(p.home, name)); err != nil {
			t.Fatal(err)
		}
	}
	load := func(permissions string) *rules.Set {
		dirs := p.dirs()
		dirs.Local = machine{}
		set, err := rules.Load(dirs, source(permissions))
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	set := load(`{"allow": ["Read(./**)"]}`)
	for _, name := range []string{"dev.settings", "dot/netrc", "dot/ssh/id", "keys/one", "open.txt", ".env.example"} {
		want := tool.Ask
		if name == "open.txt" || name == ".env.example" {
			want = tool.Allow
		}
		if d := p.decide(set, "read_file", map[string]string{"file_path": name}); d.Verdict != want {
			t.Errorf("reading %s is %v: %s", name, d.Verdict, d.Reason)
		}
		if d := p.command(set, "cat "+name); d.Verdict != want {
			t.Errorf("cat %s is %v: %s", name, d.Verdict, d.Reason)
		}
	}
	for name, want := range map[string]tool.Verdict{"dot": tool.Ask, "keys": tool.Ask, ".": tool.Ask} {
		if d := p.decide(load(`{}`), "grep", map[string]string{"pattern": "x", "path": name}); d.Verdict != want {
			t.Errorf("a search of %s is %v: %s", name, d.Verdict, d.Reason)
		}
	}
	set = load(`{"allow": ["Read(./dev.settings)"]}`)
	if d := p.decide(set, "read_file", map[string]string{"file_path": "dev.settings"}); d.Verdict != tool.Allow {
		t.Errorf("a rule that names the file does not allow it: %s", d.Reason)
	}
}

// What a link leads to is no ordinary file if the link is hidden, lies in a hidden directory or has
// the name of a file that starts something.
func TestU17_StartingFilesThatAreLinks(t *testing.T) {
	p := newProject(t, "tools/exrc", "code/tasks.json", "docs/rules.md", "skills/x/SKILL.md", "lib/index.js",
		"src/a.go", ".vscode/x", ".claude/x", "node_modules/x")
	p.link("tools/exrc", ".exrc")
	p.link("../code/tasks.json", ".vscode/tasks.json")
	p.link("docs/rules.md", "CLAUDE.md")
	p.link("../skills", ".claude/skills")
	p.link("../lib", "node_modules/lib")
	p.link("src", "source")
	p.link("src/a.go", ".gitkeep")
	p.link("..", ".claude/here")
	dirs := p.dirs()
	dirs.Local = machine{}
	set, err := rules.Load(dirs)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"tools/exrc": false, "code/tasks.json": false, "docs/rules.md": false,
		"skills/x/SKILL.md": false, "skills/y/new": false, "lib/index.js": true, "src/a.go": true,
		"tools/other": true} {
		d := p.decide(set, "write_file", map[string]string{"file_path": name, "content": "x"})
		if d.Verdict != tool.Ask || d.Edits != want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// A file in an environment of python asks whatever the name of that, unless a rule names it.
func TestU17_EnvironmentsOfPython(t *testing.T) {
	p := newProject(t, "env/pyvenv.cfg", "env/bin/activate", "tools/py/conda-meta/", "src/bin/x", "pyvenv.cfg",
		"linked/x")
	if err := os.Symlink("/etc/hosts", filepath.Join(p.dir, "linked/pyvenv.cfg")); err != nil {
		t.Fatal(err)
	}
	for permissions, want := range map[string]tool.Verdict{`{"allow": ["Edit(./**)"]}`: tool.Ask,
		`{"allow": ["Edit(./env/**)", "Edit(./linked/**)", "Edit(./py/**)", "Edit(**/py/**)", "Edit(./bin/**)", "Edit(work/**)",
			"Edit(**/sitecustomize/**)",
			"Edit(//**/work/**)", "Edit(**/.tox/**)"]}`: tool.Allow} {
		for _, name := range []string{"env/bin/activate", "env/new", "linked/bin/activate", "tools/py/bin/x",
			"bin/python", ".tox/a/b",
			"sitecustomize/__init__.py"} {
			d := p.decide(p.load(permissions), "write_file", map[string]string{"file_path": name, "content": "x"})
			if d.Verdict != want {
				t.Errorf("%s: writing %s is %v: %s", permissions, name, d.Verdict, d.Reason)
			}
		}
	}
	for _, name := range []string{"src/bin/x", "main.py", "tools/x"} {
		d := p.decide(p.load(`{"allow": ["Edit(./**)"]}`), "write_file", map[string]string{"file_path": name,
			"content": "x"})
		if d.Verdict != tool.Allow {
			t.Errorf("writing %s is %v: %s", name, d.Verdict, d.Reason)
		}
	}
}

// Thousands of rules are resolved in the time that a few milliseconds of system calls take.
func BenchmarkU23_RulesOfLinkedDirectories(b *testing.B) {
	p := newProject(b, "a/b/c/x")
	text := `{"deny": [`
	for i := range 5000 {
		text += `"Read(./a/b/d` + strconv.Itoa(i) + `/**)",`
	}
	text += `"Read(./a)"]}`
	for b.Loop() {
		if _, err := rules.Load(rules.Dirs{Work: p.dir, Home: p.home, Resolve: rules.RealPath, Local: machine{}},
			source(text)); err != nil {
			b.Fatal(err)
		}
	}
}
