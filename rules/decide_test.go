package rules_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
)

// decisionCase is a script or the call of a tool, and what is decided about it.
type decisionCase struct{ what, want, rule string }

// commands checks decisions about scripts.
func (p *project) commands(t *testing.T, permissions string, cases []decisionCase) {
	t.Helper()
	s := p.load(permissions)
	for _, c := range cases {
		d := p.command(s, c.what)
		if got := d.Verdict.String(); got != c.want || !strings.HasPrefix(d.Rule, c.rule) {
			t.Errorf("%s\n  %q: %s by %q (%s), want %s by %q", permissions, c.what, got, d.Rule, d.Reason, c.want,
				c.rule)
		}
	}
}

func TestL1_Commands(t *testing.T) {
	p := newProject(t, "a.go", "sub/b.go", "secrets/key")
	p.commands(t, `{"allow": ["Bash(go test:*)", "Bash(npm run *)", "Bash(ls*)", "Bash(make)", "Bash(git * main)", "Bash(rm *.o)"],
		"ask": ["Bash(git push *)"], "deny": ["Bash(rm -rf *)", "Bash(curl:*)", "Bash(npm install * -g)", "Bash(npm install * -g *)"]}`, []decisionCase{
		{"go test", "allow", "Bash(go test:*)"},
		{"go test ./...", "allow", "Bash(go test:*)"},
		{"go testing", "ask", ""},
		{`"go" 'te'st ./x`, "allow", "Bash(go test:*)"},
		{`go "test ./x"`, "ask", ""},
		{"npm run", "allow", "Bash(npm run *)"},
		{"npm run build -- -x", "allow", "Bash(npm run *)"},
		{"npm runs", "ask", ""},
		{"lsof", "allow", "Bash(ls*)"},
		{"make", "allow", "Bash(make)"},
		{"make install", "ask", ""},
		{"git checkout main", "allow", "Bash(git * main)"},
		{"git push origin main", "ask", "Bash(git push *)"},
		{"go test && make", "allow", ""},
		{"go test && make install", "ask", ""},
		{"go test && curl x.test", "deny", "Bash(curl:*)"},
		{"go test; /usr/bin/curl x.test", "deny", "Bash(curl:*)"},
		{"echo $(curl x.test)", "deny", "Bash(curl:*)"},
		{"(cd sub && timeout 5 curl x.test)", "deny", "Bash(curl:*)"},
		{"sh -c 'curl x.test'", "deny", "Bash(curl:*)"},
		{"git -C sub push origin", "ask", "Bash(git push *)"},
		{"git --no-pager -c a.b=c push", "ask", "Bash(git push *)"},
		{"npm install typescript -g", "deny", "Bash(npm install * -g)"},
		{"npm install -g typescript", "ask", ""},
		{"rm a.o b.o", "allow", "Bash(rm *.o)"},
		{"rm -rf x.o", "deny", "Bash(rm -rf *)"},
		{"go test > out.txt", "ask", ""},
		{"LD_PRELOAD=./x.so go test", "ask", ""},
		{"NO_COLOR=1 go test", "allow", "Bash(go test:*)"},
		{"cd / && go test", "ask", ""},
		{"go test $X", "ask", ""},
		{"go test &&& make", "ask", ""},
	})
	p.commands(t, `{"allow": ["Bash"], "deny": ["Bash(curl:*)"]}`, []decisionCase{
		{"anything at all > here", "allow", "Bash"},
		{"x; curl y", "deny", "Bash(curl:*)"},
		{"$X y", "ask", ""}, // X could be curl
	})
	p.commands(t, `{"allow": ["Bash(*)"]}`, []decisionCase{{"$X y > z", "allow", "Bash(*)"}})
	p.commands(t, `{"deny": ["Bash"]}`, []decisionCase{{"ls", "deny", "Bash"}})
	p.commands(t, `{"allow": ["Bash(echo $X \\* && cat ~/x)"]}`,
		[]decisionCase{{"echo $X * && cat ~/x", "allow", "Bash(echo"}, {"echo $X y && cat ~/x", "ask", ""}})
}

// A program of the workspace with the name of one that runs others is not taken for it, whatever it
// runs.
func TestL2_WrappersOfTheWorkspace(t *testing.T) {
	p := newProject(t, "timeout", "bin/sh")
	p.commands(t, `{"allow": ["Bash(go test:*)"]}`, []decisionCase{
		{"timeout 5 ls", "allow", ""},
		{"timeout 5 go test", "allow", ""},
		{"CI=1 PORT=1 timeout 5 go test", "allow", ""},
		{"./timeout 5 ls", "ask", ""},
		{"./timeout 5 go test", "ask", ""},
		{"bin/sh -c ls", "ask", ""},
		{"/tmp/nice go test", "ask", ""},
		{"timeout 5 ./timeout 5 ls", "ask", ""},
	})
}

// Commands that read and write obey the rules for files.
func TestL1_FilesOfCommands(t *testing.T) {
	p := newProject(t, "a.go", ".env", ".env.example", "secrets/key", "id_rsa", "docs/x.md")
	p.link("secrets/key", "innocent")
	p.link("/etc", "etc")
	p.commands(t, `{"allow": ["Bash(cat:*)", "Bash(python3:*)", "Edit(docs/**)"], "deny": ["Read(./secrets/**)"]}`,
		[]decisionCase{
			{"cat a.go", "allow", ""},
			{"cat secrets/key", "deny", "Read(./secrets/**)"},
			{"cat < secrets/key", "deny", "Read(./secrets/**)"},
			{"cat innocent", "deny", "Read(./secrets/**)"},
			{"cat docs/../secrets/key", "deny", "Read(./secrets/**)"},
			{"grep x secrets/key", "deny", "Read(./secrets/**)"},
			{"cd secrets && cat key", "deny", "Read(./secrets/**)"},
			{"python3 x.py secrets/key", "deny", "Read(./secrets/**)"},
			{"python3 x.py --in=secrets/key", "deny", "Read(./secrets/**)"},
			{"cat .env", "ask", ""},
			{"python3 x.py .env", "ask", ""},
			{"cat .env.example", "allow", ""},
			{"cat /proc/1/environ", "ask", ""},
			{"cat a.go > docs/y.md", "allow", ""},
			{"cat a.go > y.md", "ask", ""},
			{"cat a.go > docs/AGENTS.md", "ask", ""},
			{"cat a.go > /dev/null", "allow", ""},
		})
	p.commands(t, `{"allow": ["Read(.env)"], "ask": ["Edit(docs/**)"]}`, []decisionCase{
		{"cat .env", "allow", "Read(.env)"},
		{"grep -n x .env", "allow", "Read(.env)"},
		{"echo x > docs/z", "ask", "Edit(docs/**)"},
		{"cat etc/hostname", "ask", ""},
		{"cat /etc/hostname", "ask", ""},
	})
	p.commands(t, `{"deny": ["Edit(docs/**)"]}`, []decisionCase{
		{"echo x > docs/z", "deny", "Edit(docs/**)"},
		{"rm docs/x.md", "deny", "Edit(docs/**)"},
		{"make docs/x.md", "ask", "Edit(docs/**)"}, // it is not known what make does with it
		{"cat docs/x.md", "allow", ""},
	})
	p.commands(t, `{"allow": ["Read"], "deny": ["Edit"]}`, []decisionCase{{"cat .env /etc/hostname", "allow", "Read"},
		{"echo x > y", "deny", "Edit"}})
	p.commands(t, `{"allow": ["Read(//etc/**)"]}`, []decisionCase{{"cat etc/hostname", "allow", "Read(//etc/**)"},
		{"cat /etc/hostname", "allow", "Read(//etc/**)"},
		{"cat /etc/../proc/1/environ", "ask", ""}})
}

// Rules about changes of files count for the files that well-known programs change, also where a
// rule allows the command.
func TestL1_ChangesByCommands(t *testing.T) {
	p := newProject(t, "a.go", "b.go", "prod/y", "prod/sub/z", "top/prod/y", "top/x", "docs/x.md", ".github/w.yml")
	p.link("prod", "link")
	var cases []decisionCase
	for _, script := range []string{
		"cp a.go prod/y", "cp a.go prod/", "cp a.go b.go prod", "cp -t prod a.go", "cp --target-directory=prod a.go",
		"cp -rt prod docs", "cp a.go link/y",
		"install -m 755 a.go prod/y", "ln -sf a.go prod/y", "rsync -a docs/ prod/", "mv a.go prod/y", "mv prod/y a.go",
		"mv prod old", "tee prod/y", "echo x | tee -a prod/y",
		"rm prod/y", "rm -rf prod", "rm -rf -- prod/sub", "rm prod/*", "rm */y", "rmdir prod/sub", "touch prod/new",
		"mkdir -p prod/new", "truncate -s 0 prod/y",
		"shred prod/y", "gzip prod/y", "chmod 600 prod/y", "chown x prod/y", "dd if=a.go of=prod/y",
		"sed -i s/a/b/ prod/y", "sed -Ei.bak s/a/b/ prod/y",
		"sed --in-place=.bak s/a/b/ prod/y", "perl -pi -e s/a/b/ prod/y", "gofmt -w prod", "sort -o prod/y a.go",
		"sort -uoprod/y a.go", "sort --output prod/y a.go",
		"sort a.go --outp=prod/y", "uniq a.go prod/y", "tree -o prod/y", "curl -so prod/y http://x",
		"curl --output prod/y http://x", "wget -O prod/y http://x",
		"wget --output-document=prod/y http://x", "patch prod/y a.go", "git diff --output=prod/y",
		"git log --output prod/y", "git -C top diff --output=../prod/y",
		"git rm prod/y", "git mv prod/y a", "git mv a.go prod", "git checkout -- prod/y", "git checkout HEAD prod/y",
		"git restore prod/y", "git clean -f prod",
		"find prod -delete", "find . -fprint prod/y", "cd prod && rm y", "timeout 5 rm prod/y", "sh -c 'rm prod/y'",
		"(rm prod/y)", "find . -exec rm prod/y ;",
		"sudo rm prod/y", "env A=b rm prod/y", "echo $(rm prod/y)", "rm $x prod/y", "rm prod/$x", "ls && rm prod/y",
		"/bin/rm prod/y", "xargs rm prod/y",
		"echo x > prod/y", "ls > prod/y", "make > prod/y", "cat < a.go >> prod/y",
		"git -c a.b=c rm prod/y", "git --no-pager -C top checkout -- ../prod/y",
		"git --git-dir .git --work-tree=. rm prod/y", "git --work-tree . rm prod/y",
		"cd docs && git --work-tree=../prod rm y",
		"find -L prod -delete", "find -H -O3 prod -delete", "find -D tree prod -delete", "find -P prod -name y -delete",
		"sed --i s/a/b/ prod/y", "sort --o=prod/y a.go", "cp --t=prod a.go", "cp --t prod a.go",
		"cd prod && sort -o -- ../a.go",
	} {
		cases = append(cases, decisionCase{script, "deny", "Edit(prod/**)"})
	}
	const denies = `"deny": ["Edit(prod/**)"]`
	p.commands(t, `{`+denies+`}`, cases)
	p.commands(t, `{"allow": ["Bash"], `+denies+`}`, cases)
	p.commands(t, `{"allow": ["Bash(cp:*)", "Bash(git:*)", "Bash(rm:*)", "Bash(sort:*)", "Bash(mv:*)", "Bash(find:*)", "Bash(chmod:*)"], "deny": ["Edit(prod/**)", "Edit(top/prod/**)"]}`, []decisionCase{
		{"cp a.go b.go", "allow", "Bash(cp:*)"},
		{"cp prod/y b.go", "ask", "Edit(prod/**)"}, // the name alone asks
		{"git diff --output=x", "allow", "Bash(git:*)"},
		{"git checkout -b feature", "allow", "Bash(git:*)"},
		{"git commit -m prod", "ask", "Edit(prod/**)"},
		{"sort -o x a.go", "allow", "Bash(sort:*)"},
		{"rm -rf docs", "allow", "Bash(rm:*)"},
		{"rm -rf top", "ask", ""},
		{"mv top elsewhere", "ask", ""},
		{"find top -delete", "ask", ""},
		{"rm -rf .", "ask", ""},
		{"chmod -R a+w .", "ask", ""},
		{"cp a.go .github/w.yml", "ask", ""},
		{"rm -f AGENTS.md", "ask", ""},
	})
	p.commands(t, `{"allow": ["Bash"], "deny": ["Edit(top/prod/**)", "Read(docs/*.md)"]}`,
		[]decisionCase{{"rm -rf top", "ask", ""}, {"rm -rf prod", "allow", "Bash"},
			{"grep -r x .", "ask", ""}, {"grep -r x prod", "allow", "Bash"}})
	p.commands(t, `{"allow": ["Bash(cp:*)"], "ask": ["Edit(prod/**)"]}`,
		[]decisionCase{{"cp a.go prod/y", "ask", "Edit(prod/**)"}})
	p.commands(t, `{"allow": ["Bash(cp:*)"], "deny": ["Edit"]}`, []decisionCase{{"cp a.go b.go", "deny", "Edit"},
		{"cat a.go", "allow", ""}})
	p.commands(t, `{"allow": ["Bash(cp:*)", "Edit(.github/**)"]}`,
		[]decisionCase{{"cp a.go .github/w.yml", "allow", ""}, {"cp /etc/x .github/w.yml", "allow", ""}})
}

// Patterns and magic of git may stand for any file of the work tree.
func TestL1_ChangesByPathspecs(t *testing.T) {
	p := newProject(t, ".git/HEAD", "docs/x.md", "top/prod/y")
	p.commands(t, `{"allow": ["Bash"], "deny": ["Edit(top/prod/**)"]}`,
		[]decisionCase{{"git rm ':/top/prod/y'", "ask", ""}, {"git checkout -- 't*/prod/y'", "ask", ""},
			{"cd docs && git restore ':(top)top'", "ask", ""}, {"git checkout main", "allow", "Bash"},
			{"git rm docs/x.md", "allow", "Bash"}})
}

func TestL2_Files(t *testing.T) {
	p := newProject(t, "a.go", ".env", "deploy/prod.pem", "docs/x.md", ".claude/settings.json", "sub/.ENV")
	p.link(".env", "plain.txt")
	p.link("docs", "link")
	for _, c := range []struct{ permissions, tool, path, want string }{
		{`{}`, "read_file", "a.go", "allow"},
		{`{}`, "read_file", ".env", "ask"},
		{`{}`, "read_file", "sub/.ENV", "ask"},
		{`{}`, "read_file", "plain.txt", "ask"},
		{`{}`, "read_file", ".env.example", "allow"},
		{`{}`, "read_file", "deploy/prod.pem", "ask"},
		{`{}`, "read_file", "/etc/hostname", "ask"},
		{`{}`, "write_file", "a.go", "ask"},
		{`{"allow": ["Edit(./**)"]}`, "write_file", "a.go", "allow"},
		{`{"allow": ["Edit(./**)"]}`, "write_file", "new/dir/a.go", "allow"},
		{`{"allow": ["Write(*.go)"]}`, "write_file", "docs/a.go", "allow"},
		{`{"allow": ["Edit(/*.go)"]}`, "write_file", "docs/a.go", "ask"},
		{`{"allow": ["Edit(docs/**)"]}`, "write_file", "link/y", "allow"},
		{`{"allow": ["Edit(link/**)"]}`, "write_file", "link/y", "ask"}, // the file is in docs
		{`{"deny": ["Edit(link/**)"]}`, "write_file", "link/y", "deny"},
		{`{"deny": ["Edit(docs/**)"], "allow": ["Edit"]}`, "write_file", "link/y", "deny"},
		{`{"ask": ["Edit(docs)"], "allow": ["Edit(docs/x.md)"]}`, "write_file", "docs/x.md", "ask"},
		{`{"allow": ["Edit(./**)"]}`, "write_file", "AGENTS.md", "ask"},
		{`{"allow": ["Edit(./**)"]}`, "write_file", "sub/.vscode/tasks.json", "ask"},
		{`{"allow": ["Edit(AGENTS.md)"]}`, "write_file", "AGENTS.md", "allow"},
		{`{"allow": ["Edit(.idea/**)"]}`, "write_file", ".idea/x.xml", "allow"},
		{`{"allow": ["Edit(.claude/**)"]}`, "write_file", ".claude/settings.json", "ask"}, // guarded
		{`{"allow": ["Edit(./**)"]}`, "write_file", ".env", "ask"},
		{`{"allow": ["Read(**/*.pem)"]}`, "read_file", "deploy/prod.pem", "allow"},
		{`{"allow": ["Read(deploy/**)"]}`, "read_file", "deploy/prod.pem", "ask"},
		{`{"allow": ["Read"]}`, "read_file", "deploy/prod.pem", "allow"},
		{`{"deny": ["Read(deploy)"]}`, "read_file", "deploy/prod.pem", "deny"},
		{`{"deny": ["read_file"]}`, "read_file", "a.go", "deny"},
		{`{"deny": ["Grep"]}`, "read_file", "a.go", "allow"},
		{`{"deny": ["Write"]}`, "edit_file", "a.go", "deny"},
	} {
		args := map[string]string{"file_path": c.path}
		switch c.tool {
		case "write_file":
			args["content"] = "x"
		case "edit_file":
			args["old_string"], args["new_string"] = "x", "y"
		}
		if d := p.decide(p.load(c.permissions), c.tool, args); d.Verdict.String() != c.want {
			t.Errorf("%s %s %s: %s (%s, %s), want %s", c.permissions, c.tool, c.path, d.Verdict, d.Rule, d.Reason,
				c.want)
		}
	}
}

// A command that reads a whole directory asks if a secret, or a file that a rule denies, is in it.
func TestL2_Trees(t *testing.T) {
	p := newProject(t, "src/a.go", "conf/.env", "secrets/key")
	p.commands(t, `{}`, []decisionCase{{"grep -r x .", "ask", ""}, {"grep -r x src", "allow", ""},
		{"ls -R .", "allow", ""}, {"find . -name '*.env'", "allow", ""},
		{"grep x conf/.env", "ask", ""}, {"ls conf/.env", "allow", ""}})
	grep := func(s *rules.Set, dir string) string {
		d := p.decide(s, "grep", map[string]string{"pattern": "x", "path": dir})
		return d.Verdict.String() + " " + strings.Join(d.Suggest, " ")
	}
	s := p.load(`{}`)
	for dir, want := range map[string]string{".": "ask Read(./conf/.env)", "src": "allow ",
		"conf": "ask Read(./conf/.env)", "conf/.env": "ask Read(./conf/.env)"} {
		if got := grep(s, dir); got != want {
			t.Errorf("grep in %s: %s, want %s", dir, got, want)
		}
	}
	if err := s.Allow("Read(./conf/.env)"); err != nil || grep(s, ".") != "allow " {
		t.Error("it asks again: ", grep(s, "."), err)
	}
	if list := s.List(); list[len(list)-1].Where != "an answer in this session" {
		t.Errorf("the rule of an answer is listed as %+v", list[len(list)-1])
	}
	p.write(".gitignore", ".env\n") // the tool does not read what is ignored, but the command does
	if got := grep(p.load(`{}`), "."); got != "allow " {
		t.Errorf("grep with an ignored secret: %s", got)
	}
	if got := grep(p.load(`{}`), "conf"); got != "allow " {
		t.Errorf("grep in conf with an ignored secret: %s", got)
	}
	p.write("nested/.git/HEAD", "ref: refs/heads/main\n") // a search begins anew there
	p.write("nested/.env", "A=b\n")
	for _, dir := range []string{".", "nested"} {
		if got := grep(p.load(`{}`), dir); got != "ask Read(./nested/.env)" {
			t.Errorf("grep in %s with a secret in a nested repository: %s", dir, got)
		}
	}
	p.commands(t, `{}`, []decisionCase{{"grep -r x .", "ask", ""}})
	p.commands(t, `{"deny": ["Read(key)"]}`, []decisionCase{{"grep -r x secrets", "ask", ""},
		{"cat secrets/key", "deny", "Read(key)"}})
	for list, denied := range map[string]bool{"deny": true, "ask": false} {
		s := p.load(`{"` + list + `": ["Read(key)"]}`)
		if d := p.decide(s, "grep", map[string]string{"pattern": "x", "path": "secrets"}); d.Verdict != tool.Ask ||
			d.Denied != denied || d.Default {
			t.Errorf("a tree with a file in %s: %+v", list, d)
		}
	}
}

// A command that follows the symbolic links in a directory asks if one leads out of it, or to a
// secret.
func TestL2_LinkedTrees(t *testing.T) {
	p := newProject(t, "src/a.go", "out/k", "secret/.env", "ok/a")
	p.link("/etc/passwd", "out/link")
	p.link(".env", "secret/link")
	p.link("a", "ok/link")
	p.commands(t, `{}`, []decisionCase{{"grep -R x out", "ask", ""}, {"rg -L x out", "ask", ""},
		{"rg --follow x out", "ask", ""}, {"diff -r out src", "ask", ""},
		{"diff -r src out", "ask", ""}, {"diff -r --no-dereference src out", "allow", ""},
		{"grep -r x out", "allow", ""}, {"rg x out", "allow", ""}, {"rg -L x secret", "ask", ""},
		{"grep -R x ok", "allow", ""}, {"diff -r src ok", "allow", ""}})
}

func TestL1_RealPath(t *testing.T) {
	p := newProject(t, "d/x")
	p.link("d", "link")
	p.link("../work/d/new", "dangling")
	p.link("loop", "loop")
	p.write("d/e/f", "")
	p.link("d/e", "deep")
	for name, want := range map[string]string{"link/x": "d/x", "link/y/z": "d/y/z", "dangling": "d/new",
		"link/../new": "new", "deep/../new": "d/new", "loop": "", "gone/../x": ""} {
		real, err := rules.RealPath(p.dir + "/" + name)
		if want == "" && err == nil || want != "" && real != p.dir+"/"+want {
			t.Errorf("%s: %s, %v", name, real, err)
		}
	}
	if real, err := rules.RealPath("/not-there"); runtime.GOOS != "windows" && (real != "/not-there" || err != nil) {
		t.Errorf("/not-there leads to %q: %v", real, err)
	}
}

// A command that names very many directories is judged in time: each is looked at once, and those
// beyond a number ask, or are denied where a rule denies a file.
func TestL2_ManyTrees(t *testing.T) {
	p := newProject(t, "src/a")
	same, others := strings.Repeat(" src", 3000), ""
	for i := range 300 {
		name := fmt.Sprintf("d%d", i)
		p.write(name+"/a", "x")
		others += " " + name
	}
	p.commands(t, `{}`, []decisionCase{{"grep -r x" + same, "allow", ""}, {"grep -r x" + others, "ask", ""}})
	if d := p.decide(p.load(`{"deny": ["Read(key)"]}`), "shell",
		map[string]string{"command": "grep -r x" + others}); !d.Denied {
		t.Errorf("with a rule that denies: %+v", d)
	}
}
