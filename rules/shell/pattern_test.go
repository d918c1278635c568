//go:build unix

package shell_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
)

// harmfulNames lists names of files that are options, scripts, filters or expressions to some
// program. They write the file mark, or run
// run.sh, which does.
var harmfulNames = []string{"P", "e sh run.sh", "w mark", "-delete", "-exec", "-omark", "--pre=sh",
	"--compress-program=sh", "-v", "a[$(: > mark)]", "10", "sh",
	"run.sh", "-n", "-p", "list", "--output=mark", "mark", "-f", "@run.sh", "!", "config", "push", "-w"}

// TestL2_PatternsAsArguments checks that a pattern asks where one of its matches may be more than
// the name of a file that is read: the order
// of the matches depends on the language.
func TestL2_PatternsAsArguments(t *testing.T) {
	p := ordinary(t)
	for _, script := range []string{
		"cd sub && sed -n *", "sed *", "sed -n -e *", "sed * p", "sed -e* a", "awk *", "awk * a", "jq *",
		"jq * a", "jq . --arg a *", "jq --arg * . a",
		"git *", "git stash *", "git config *", "git branch *", "git remote *", "git -C * status",
		"git log -n *", "git grep *", "git tag -l *", "git notes *",
		"find . -name *", "find . -name *.go", "grep *", "grep -f *", "grep -e *", "grep -A *",
		"grep -rn --include=*.go x .", "rg *", "rg -g * x",
		"rg x -g *.go", "sort -k *", "head -n *", "uniq *", "uniq a*", "xxd *", "base64 *", "date *", "tr *",
		"seq *", "test *", "test -f *", "[ * ]", "[ -f *.go ]",
		"[ a = * ]", "printf *", "printf '%d' *", "printf -- *", "wait *", "exit *", "type *", "which *",
		"command *", "command -v *", "cd *", "pwd *", "sleep *",
		"nice -n * ls", "nice --adjustment * ls", "timeout * ls", "timeout -k * 5 ls", "timeout -s * 5 ls",
		"stdbuf -o * cat a", "stdbuf --output * cat a", "nice * ls",
		"bash *", "bash -c *", "go *", "go doc *", "go env *", "node *", "npm *", "fd *", "tar *", "set *",
		"set -o *",
		"find *", "find * -name x", "git diff *.go", "git log -- *", "git grep x *", "printf '%s\\n' *", "cat [ab]",
		"echo [a-z]",
	} {
		if files, why := p.judge(script); why == "" {
			t.Errorf("%q is taken for reading: %v", script, files)
		}
	}
	for _, script := range []string{
		"cat *", "head *", "head -n 5 *.go", "wc -l *", "ls *", "ls -la *.go", "sort *", "grep x *",
		"grep -rn x *", "grep -e x *", "rg x *", "rg --files *", "sed -n p *",
		"sed -n -e 1p *.go", "jq . *",
		"echo *", "gofmt -l *.go", "file *", "stat *", "du -sh *", "md5sum *",
		"tail -n 2 *", "timeout 5 cat *", "nice -n 10 cat *", "fd x *",
	} {
		if _, why := p.judge(script); why != "" {
			t.Errorf("%q asks: %s", script, why)
		}
	}
}

// patternPrograms lists beginnings of commands behind which a pattern stands.
var patternPrograms = []string{"sed", "sed -n", "sed -n p", "sed -e p", "sed -n -e", "jq", "jq .", "find",
	"find .", "find -L", "grep", "grep x", "grep -f", "rg", "rg x",
	"rg -g", "sort", "sort -k1", "sort -o", "head", "tail", "uniq", "xxd", "git", "git -C", "git diff",
	"git log", "git stash", "git config", "test", "[ x -a", "printf",
	"printf %d", "printf %s", "echo", "cat", "wc", "nice -n", "timeout", "timeout -k", "stdbuf -o", "nice",
	"wait", "command -v", "command", "strings", "tr", "ls", "diff",
	"file", "fd", "gofmt", "exit", "cd", "base64", "comm", "date"}

// TestL2_PatternsRunNothing runs the scripts with patterns that are taken for reading in a
// directory of harmful names, and looks whether
// one of them did harm in any order of the names.
func TestL2_PatternsRunNothing(t *testing.T) {
	t.Parallel()
	bash := peer.Need(t, "bash")
	tried := 0
	sets := [][]string{harmfulNames}
	for _, name := range harmfulNames {
		sets = append(sets, []string{name})
	}
	for _, names := range sets {
		p := newPlace(t)
		for _, name := range names {
			p.put(name, ": > mark\n")
		}
		for _, program := range patternPrograms {
			if _, why := p.judge(program + " *"); why != "" {
				continue
			}
			tried++
			for _, order := range [][]string{names, reversed(names)} {
				p.runsAs(bash, program, order)
			}
		}
	}
	if tried == 0 {
		t.Error("no script is taken for reading")
	}
	t.Logf("%d scripts were taken for reading", tried)
}

func reversed(names []string) []string {
	names = slices.Clone(names)
	slices.Reverse(names)
	return names
}

// runsAs runs a program with names in an order, and checks that the files are the same afterwards.
func (p *place) runsAs(bash, program string, names []string) {
	p.Helper()
	before := p.listing()
	cmd := exec.CommandContext(p.Context(), bash, append([]string{"-c", program + ` "$@"`, "bash"}, names...)...)
	cmd.Dir, cmd.Env = p.dir, []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "LC_ALL=C.UTF-8"}
	_ = cmd.Run() // most fail
	if after := p.listing(); after != before {
		p.Errorf("%q with %q changed the files from\n%s\nto\n%s", program, names, before, after)
	}
}

// listing returns the names and contents of the files of the place.
func (p *place) listing() string {
	p.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		p.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.dir, e.Name()))
		if err != nil {
			p.Fatal(err)
		}
		b.WriteString(e.Name() + ": " + string(data))
	}
	return b.String()
}

// TestL2_OptionsBehindOperands checks that an option behind an operand counts as an operand as
// well, as it does where POSIXLY_CORRECT is
// set and on BSD and macOS. The scripts of real programs below write files there.
func TestL2_OptionsBehindOperands(t *testing.T) {
	p := ordinary(t)
	for _, script := range []string{
		"sed 'w ../f' -e p notes.txt", "sed 'w f' a -e p", "sed 'w f' -n -e p a", "sed 'e sh' --expression=p",
		"sed w -- -e p", "sed p -i a", "sort a -o out", "sort a --output=out",
		"uniq a -c", "uniq a -f 1", "uniq a --", "uniq -- a -c", "tr a b -d", "base64 a -d", "date +%F -u",
		"hostname x -f", "cal 1 2 -m", "find . -name x -delete",
		"git config user.name --list", "git config user.name -l", "git config user.name --get",
		"git config a.b --type=bool", "git stash -m list", "git stash -p list",
		"git stash -u show", "git worktree -v list", "grep x -f /etc/shadow a -o /etc/../etc/x --file=f -Z --pre=x",
	} {
		if files, why := p.judge(script); why == "" {
			t.Errorf("%q is taken for reading: %v", script, files)
		}
	}
	for script, want := range map[string]string{
		"sed p -n a":            "a -n a",
		"grep x -e y a":         "x a -e y a",
		"head a -n 5":           "a a -n 5",
		"sort a -r":             "a a -r",
		"rg x sub -n":           "sub TV",
		"ls sub -la":            "sub sub -la N",
		"git config --list":     "",
		"git stash show -p":     ". NT",
		"uniq -c a":             "a",
		"grep x a --exclude=.b": "a a --exclude=.b",
	} {
		files, why := p.judge(script)
		if why != "" {
			t.Errorf("%q asks: %s", script, why)
		} else if got := p.short(files); want != "" && got != want {
			t.Errorf("%q reads %q, want %q", script, got, want)
		}
	}
}

// TestL2_MatchesAndOptionsRun checks with real programs that the scripts which ask here do more
// than read: they change files where the
// matches of a pattern stand in another order, or where options end at the first operand.
func TestL2_MatchesAndOptionsRun(t *testing.T) {
	bash := peer.Need(t, "bash")
	peer.Need(t, "git")
	for script, as := range map[string]string{
		"sed -n *":                    "sed -n 'e sh run.sh' P",
		"nice -n * ls":                "nice -n 10 sh run.sh ls",
		"sed 'w out' -e p run.sh":     "export POSIXLY_CORRECT=1; sed 'w out' -e p run.sh",
		"uniq run.sh -c":              "export POSIXLY_CORRECT=1; uniq run.sh -c",
		"git config user.name --list": "git config user.name --list; cat .git/config >run.sh",
		"git stash -m list":           "git config user.name x; git config user.email x@y; git stash -m list",
	} {
		p := newPlace(t)
		p.git(".", "init", "-q")
		p.put("run.sh", "first\n")
		p.git(".", "add", ".")
		p.git(".", "commit", "-q", "-m", "x")
		p.put("P", "x\n")
		p.put("run.sh", ": > mark\n")
		if _, why := p.judge(script); why == "" {
			t.Errorf("%q is taken for reading", script)
		}
		before := p.listing()
		cmd := exec.CommandContext(t.Context(), bash, "-c", as)
		cmd.Dir, cmd.Env = p.dir, []string{"PATH=/usr/bin:/bin", "HOME=" + p.home, "LC_ALL=C.UTF-8"}
		_ = cmd.Run()
		if p.listing() == before {
			t.Errorf("%q changes nothing", as)
		}
	}
}
