package trust_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/trust"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project is a directory with the files of a project, and a store.
type project struct {
	testing.TB
	dir   string
	store *trust.Store
	kept  string // the directory of the store
}

// newProject makes a project of pairs of names and contents.
func newProject(t testing.TB, files ...string) *project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "trust")
	p := &project{t, dir, trust.NewStore(kept), kept}
	for i := 0; i < len(files); i += 2 {
		p.put(files[i], files[i+1])
	}
	return p
}

func (p *project) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *project) put(name, content string) {
	p.Helper()
	p.must(os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o700))
	p.must(os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600))
}

func (p *project) link(target, name string) {
	p.Helper()
	p.must(os.MkdirAll(filepath.Dir(filepath.Join(p.dir, name)), 0o700))
	p.must(os.Symlink(target, filepath.Join(p.dir, name)))
}

func (p *project) scan() *trust.Snapshot {
	p.Helper()
	s, err := trust.Scan(p.dir)
	p.must(err)
	return s
}

// clean scans a project that has no problems.
func (p *project) clean() *trust.Snapshot {
	p.Helper()
	s := p.scan()
	if len(s.Problems) > 0 {
		p.Fatalf("problems: %v", s.Problems)
	}
	return s
}

func (p *project) decide() trust.Decision {
	p.Helper()
	d, err := p.store.Decide(p.scan())
	p.must(err)
	return d
}

func names(s *trust.Snapshot) string {
	var all []string
	for _, f := range s.Files {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

// Each kind of file that starts or allows something changes the hash when it is added, edited or
// made executable, and the change is told.
func TestL10_EveryKindCounts(t *testing.T) {
	hook := `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"\"$CLAUDE_PROJECT_DIR\"/tools/check.sh --strict"}]}]}}`
	for _, name := range []string{".mcp.json", ".attractor/rules.json", ".attractor/deep/er/file",
		".claude/settings.json", ".claude/settings.local.json",
		".claude/hooks/a.py", ".claude/commands/x/deploy.md", ".claude/skills/pdf/SKILL.md",
		".claude/skills/pdf/scripts/run.py", ".claude/agents/reviewer.md",
		".agents/skills/pdf/SKILL.md", ".codex/hooks.json", ".codex/config.toml", ".codex/rules/default.rules",
		".gemini/settings.json", ".gemini/commands/a.toml",
		"tools/check.sh"} {
		p := newProject(t, "README.md", "hello", "AGENTS.md", "Be kind.", "main.go", "package main")
		if name == "tools/check.sh" {
			p.put(".claude/settings.json", hook)
		}
		p.must(p.store.Grant(p.clean()))
		if d := p.decide(); d.State != trust.Trusted {
			t.Fatalf("%s: %+v before the change", name, d)
		}
		for step, change := range []func(){
			func() { p.put(name, "one\n") },
			func() { p.put(name, "two\n") },
			func() { p.must(os.Chmod(filepath.Join(p.dir, name), 0o700)) },
			func() { p.must(os.Remove(filepath.Join(p.dir, name))) },
		} {
			before := p.clean().Hash()
			change()
			now := p.clean()
			if now.Hash() == before {
				t.Errorf("%s: step %d does not change the hash of %s", name, step, names(now))
			}
			d := p.decide()
			if now.Empty() { // nothing is left that needs trust
				continue
			}
			if d.State != trust.Changed || len(d.Changes) != 1 || d.Changes[0].Name != name || d.Changes[0].Diff == "" {
				t.Errorf("%s: step %d: %+v", name, step, d)
			}
			p.must(p.store.Grant(now))
		}
	}
}

// Files that start and allow nothing are no part of a snapshot, and a project of them needs no
// decision.
func TestL10_NothingToTrust(t *testing.T) {
	p := newProject(t, "AGENTS.md", "Be kind.", "CLAUDE.md", "Be quick.", ".claude/CLAUDE.md", "x",
		".git/hooks/pre-commit", "x", "sub/.mcp.json", "{}", ".env", "A=b",
		".gemini/settings.json/x", "a directory in the place of a file")
	if s := p.clean(); !s.Empty() || p.decide().State != trust.Trusted {
		t.Errorf("%s, %+v", names(s), p.decide())
	}
	if entries, err := p.store.List(); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Scripts in the project that hooks and servers name are part of the snapshot, in all the ways in
// which a command can name them.
func TestL10_NamedScripts(t *testing.T) {
	p := newProject(t, "a.sh", "", "b c.sh", "", "d.js", "", "e.sh", "", "f.py", "", "g.sh", "", "h.sh", "", "i.py", "",
		"j.sh", "", "k.sh", "", "unnamed.sh", "", "sub/l.sh", "")
	p.put(".claude/settings.json",
		`{"permissions":{"allow":["Bash(./unnamed.sh)"]},"Hooks":{"Stop":[{"hooks":[{"command":"./a.sh"},
		{"command":"sh '`+filepath.ToSlash(p.dir)+
			`/b c.sh'"},{"command":"bash -c \"cd sub && ${CLAUDE_PROJECT_DIR}/e.sh;sub/../sub/l.sh\""}]}]},
		"hooks":{"Stop":[{"command":"X=g.sh node --require=h.sh","args":["k.sh"]}]}}`)
	p.put(".mcp.json", `{"mcpServers":{"x":{"command":"node","args":["./d.js"]}}}`)
	p.put(".codex/config.toml", "[mcp_servers.x]\ncommand = 'python3'\nargs = [\"f.py\"]\n")
	p.put(".claude/skills/s/SKILL.md",
		"---\nname: s\nhooks:\n  Stop:\n    - command: python3 ./i.py\n---\nSee ./unnamed.sh\n")
	p.put(".codex/hooks.json",
		`{"hooks":{"Stop":[{"hooks":[{"command":"$CLAUDE_PROJECT_DIR/j.sh ../outside /etc/passwd none.sh sub"}]}]}}`)
	want := ".claude/settings.json .claude/skills/s/SKILL.md .codex/config.toml .codex/hooks.json .mcp.json a.sh b " +
		"c.sh d.js e.sh f.py g.sh h.sh i.py j.sh k.sh sub/l.sh"
	if got := names(p.clean()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if effects := p.clean().Effects(); len(effects) == 0 ||
		effects[0] != (trust.Effect{".claude/settings.json", "allows", "Bash(./unnamed.sh)"}) {
		t.Errorf("%+v", effects)
	}
}

// A link inside the project is followed. One that leads out of it, or to something that is no file,
// is a problem that names it, and nothing of the project can be trusted.
func TestL10_Links(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "evil.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := newProject(t, "shared/pdf/SKILL.md", "x", "mcp.json", "{}")
	good.link("../../shared/pdf", ".claude/skills/pdf")
	good.link("mcp.json", ".mcp.json")
	if got := names(good.clean()); got != ".claude/skills/pdf .claude/skills/pdf/SKILL.md .mcp.json" {
		t.Errorf("the snapshot has %s", got)
	}
	before := good.clean().Hash()
	good.put("shared/pdf/SKILL.md", "y")
	if good.clean().Hash() == before {
		t.Error("a change behind a link does not count")
	}
	for name, c := range map[string]struct {
		target, name, problem, reason string
	}{
		"a file outside": {filepath.Join(outside, "evil.json"), ".mcp.json", ".mcp.json",
			"out of the project"},
		"a directory outside":     {outside, ".claude", ".claude", "out of the project"},
		"a nested one outside":    {outside, ".claude/skills/x", ".claude/skills/x", "out of the project"},
		"nothing":                 {"nowhere", ".mcp.json", ".mcp.json", "leads to nothing"},
		"nothing outside":         {filepath.Join(outside, "none"), ".mcp.json", ".mcp.json", ""},
		"itself":                  {".mcp.json", ".mcp.json", ".mcp.json", ""},
		"a directory above":       {"..", ".claude/skills/up", ".claude/skills/up/skills", "inside itself"},
		"a script outside":        {outside, "scripts", "scripts/evil.json", "out of the project"},
		"a device":                {"/dev/zero", ".claude/settings.json", ".claude/settings.json", "out of the project"},
		"an absolute one, inside": {"$DIR/shared", ".claude/agents", ".claude/agents", ""},
	} {
		p := newProject(t, "shared/x", "x", ".codex/hooks.json",
			`{"hooks":{"Stop":[{"hooks":[{"command":"sh scripts/evil.json"}]}]}}`)
		p.link(strings.ReplaceAll(c.target, "$DIR", p.dir), c.name)
		s := p.scan()
		if err := s.Err(c.problem); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("a link to %s: %v in %v", name, err, s.Problems)
		}
		if err := p.store.Grant(s); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("a link to %s was trusted: %v", name, err)
		}
	}
}

// A link that leads out and appears after the project was trusted takes the trust away, although
// all other files are as before.
func TestL10_ProblemsTakeTrustAway(t *testing.T) {
	p := newProject(t, ".claude/settings.json", "{}")
	p.must(p.store.Grant(p.clean()))
	p.link(t.TempDir(), ".claude/skills/x")
	if d := p.decide(); d.State != trust.Changed || len(d.Changes) != 1 || d.Changes[0].What != trust.Refused {
		t.Errorf("%+v", d)
	}
}

// Limits are problems that name the file.
func TestL10_Limits(t *testing.T) {
	p := newProject(t, ".mcp.json", "{}")
	p.must(os.Truncate(filepath.Join(p.dir, ".mcp.json"), 4<<20+1))
	for i := range 9 {
		p.put(".claude/skills/s/"+string(rune('a'+i)), strings.Repeat("x", 4<<20))
	}
	s := p.scan()
	if err := s.Err(".mcp.json"); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("%v", err)
	}
	if err := s.Err(".claude/skills/s/i"); err == nil || !strings.Contains(err.Error(), "together") ||
		s.Err(".claude/skills/s/h") != nil {
		t.Errorf("%v", s.Problems)
	}
	many := newProject(t)
	for i := range 5_001 {
		many.put(".claude/skills/s/"+strings.Repeat("x", i%100)+string(rune('a'+i%26))+"/"+strings.Repeat("y", i/100+1),
			"")
	}
	if s := many.scan(); len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Error(), "5000") {
		t.Errorf("%d files, %v", len(s.Files), s.Problems)
	}
	if _, err := trust.Scan(filepath.Join(p.dir, "none")); err == nil {
		t.Error("a missing directory was scanned")
	}
}

// What a program uses is what was read: a file that is exchanged after the scan does not change the
// snapshot, and is found before it runs.
func TestL10_SwappedAfterScan(t *testing.T) {
	p := newProject(t, ".claude/hooks/a.sh", "echo good\n", ".claude/hooks/b.sh", "echo good\n", "other.sh",
		"echo good\n")
	p.link("../../other.sh", ".claude/hooks/l.sh")
	s := p.clean()
	for _, name := range []string{".claude/hooks/a.sh", ".claude/hooks/b.sh", ".claude/hooks/l.sh"} {
		p.must(s.Unchanged(name))
	}
	hash := s.Hash()
	for what, swap := range map[string]func(name string){
		"content": func(name string) { p.put(name, "echo evil\n") },
		"mode":    func(name string) { p.must(os.Chmod(filepath.Join(p.dir, name), 0o700)) },
		"link": func(name string) {
			p.must(os.Remove(filepath.Join(p.dir, name)))
			p.link("b.sh", name)
		},
		"removed": func(name string) { p.must(os.Remove(filepath.Join(p.dir, name))) },
	} {
		p.put(".claude/hooks/a.sh", "echo good\n")
		p.must(os.Chmod(filepath.Join(p.dir, ".claude/hooks/a.sh"), 0o600))
		p.must(s.Unchanged(".claude/hooks/a.sh"))
		swap(".claude/hooks/a.sh")
		if err := s.Unchanged(".claude/hooks/a.sh"); err == nil {
			t.Errorf("%s: the swap was not found", what)
		}
		if what == "link" { // or else the next write would go through it
			p.must(os.Remove(filepath.Join(p.dir, ".claude/hooks/a.sh")))
		}
		if string(s.File(".claude/hooks/a.sh").Data) != "echo good\n" || s.Hash() != hash {
			t.Errorf("%s: the snapshot has changed", what)
		}
	}
	p.put("other.sh", "echo evil\n")
	if s.Unchanged(".claude/hooks/l.sh") == nil || s.Unchanged("other.sh") == nil {
		t.Error("a change behind a link was not found")
	}
}

// The question about a server shows its command, what it sets and sends, where it works, what it
// reaches, and which variables it gets.
func TestM12_EffectsOfServers(t *testing.T) {
	p := newProject(t, ".mcp.json", `{"mcpServers": {
		"one": {"command": "npx", "args": ["-y", "${PKG:-pkg}"], "env": {"LD_PRELOAD": "x.so", "KEY": "${THE_KEY}"}, "cwd": "sub", "hosts": ["10.0.0.1"]},
		"two": {"url": "https://x.example/${PATH_OF}", "headers": {"Authorization": "Bearer ${A}${B}"}, "oauth": {"clientSecretVar": "C"}}}}`)
	var got []string
	for _, e := range p.clean().Effects() {
		got = append(got, e.What+": "+e.Text)
	}
	want := []string{"server one: npx", "server one gets the argument: -y", "server one gets the argument: ${PKG:-pkg}",
		"server one gets your variable: PKG", "server one sets: LD_PRELOAD=x.so",
		"server one sets: KEY=${THE_KEY}", "server one gets your variable: THE_KEY", "server one works in: sub",
		"server one reaches: 10.0.0.1",
		"server two: https://x.example/${PATH_OF}", "server two gets your variable: PATH_OF",
		"server two sends: Authorization: Bearer ${A}${B}",
		"server two gets your variable: A", "server two gets your variable: B", "server two gets your variable: C"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
