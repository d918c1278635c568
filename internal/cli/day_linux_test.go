package cli

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/render"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// workday returns ten ordinary sessions, each as the calls that a model makes one after the other.
func workday() map[string][]fakellm.Call {
	sh := func(command string) fakellm.Call { return use("shell", map[string]any{"command": command}) }
	read := func(file string) fakellm.Call { return use("read_file", map[string]any{"file_path": file}) }
	grep := func(pattern string) fakellm.Call { return use("grep", map[string]any{"pattern": pattern}) }
	edit := func(file, from, to string) fakellm.Call {
		return use("edit_file", map[string]any{"file_path": file, "old_string": from, "new_string": to})
	}
	write := func(file, text string) fakellm.Call {
		return use("write_file", map[string]any{"file_path": file, "content": text})
	}
	return map[string][]fakellm.Call{
		"01 explain the code": {use("glob", map[string]any{"pattern": "**/*.go"}), read("sum.go"), read("sub/sub.go"),
			grep("func "),
			sh("ls -la && cat go.mod"), sh("git log --oneline -5"),
			sh("find . -name '*.go' -not -path './.git/*' | xargs wc -l"), sh("go list ./... 2>/dev/null; go version"),
			sh("cat README.md | head -20")},
		"02 fix a bug": {grep("Sum"), read("sum.go"), read("sum_test.go"), sh("go test ./..."),
			edit("sum.go", "a - b", "a + b"), sh("go test ./..."), sh("go test -run TestSum -v . 2>&1 | tail -20"),
			sh("git diff")},
		"03 review the last commit": {sh("git status"), sh("git show --stat HEAD"), sh("git diff HEAD~1 -- sum.go"),
			sh("git log -p -2 | cat"), sh("git blame sum.go | head -5"), read("sum.go"),
			sh("git diff --stat HEAD~1 && git --no-pager log -1 --format=%B")},
		"04 test the web part": {read("package.json"), sh("cat test.js"), sh("npm test"),
			edit("web.js", "'helo'", "'hello'"), sh("npm test 2>&1 | tail -5"), sh("npm test"), sh("git diff --stat")},
		"05 commit what is there": {sh("git status --short"), sh("git diff"), sh("git diff --cached"),
			sh("git log --oneline -3"), sh("git add -A && git commit -m 'Add a draft'"), sh("git status"),
			sh("git log -1 --stat")},
		"06 refactor": {grep("Double"), sh("rg -n Double --type go || grep -rn Double ."), read("sub/sub.go"),
			edit("sub/sub.go", "func Double", "// Double doubles.\nfunc Double"), read("sum.go"),
			edit("sum.go", "// Sum", "// Sum adds. It"),
			write("sub/more.go", "package sub\n\nfunc Triple(n int) int { return 3 * n }\n"),
			sh("go build ./... && go vet ./... && go test ./..."), sh("go test ./sub/..."), sh("gofmt -l ."),
			sh("git diff --stat")},
		"07 write the docs": {read("README.md"), sh("sed -n 1,20p sum.go"),
			edit("README.md", "A sum.", "A sum of two numbers."), write("docs/usage.md", "# Usage\n\nCall Sum.\n"),
			edit("docs/usage.md", "Call Sum.", "Call Sum(1, 2)."), sh("cat docs/usage.md; wc -w README.md docs/*.md"),
			sh("git status --short && git diff")},
		"08 find a flaky test": {sh("go test -count=3 ./..."), sh("go test -run 'TestSum$' -count=5 ."),
			read("sum_test.go"), sh("cd sub && go test -v ./..."),
			sh("GOFLAGS=-count=1 go version; go test ./... | grep -c ok"),
			sh("git log --oneline -- sum_test.go")},
		"09 a new feature with tests": {read("sub/sub.go"),
			write("sub/half.go", "package sub\n\nfunc Half(n int) int { return n / 2 }\n"),
			write("sub/half_test.go",
				"package sub\n\nimport \"testing\"\n\nfunc TestHalf(t *testing.T) {\n\tif Half(4) != 2 {\n"+
					"\t\tt.Error(Half(4))\n\t}\n}\n"), sh("go test ./sub/ -run TestHalf -v"),
			edit("sub/half_test.go", "Half(4) != 2", "Half(4) != 2 || Half(0) != 0"), sh("cd sub && go test ."),
			sh("go test ./... 2>&1 | tail -3"), sh("git status --short")},
		"10 test and commit": {sh("git diff"), sh("go test ./..."),
			sh("git add sum.go sum_test.go draft.txt && git commit -q -m \"$(cat <<'EOF'\nFix the sum\n\nIt " +
				"subtracted.\nEOF\n)\""),
			sh("git commit --allow-empty -m 'Nothing more'"), sh("git commit --amend --no-edit -q"),
			sh("go test ./sub"), sh("git log --oneline -3"), sh("git show --stat")},
	}
}

// newRepository makes a repository with a Go module, an npm package and two commits.
func newRepository(t *testing.T, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"go.mod": "module example.com/sum\n\ngo 1.24\n", "README.md": "# Sum\n\nA sum.\n",
		"sum.go": "package sum\n\n// Sum adds.\nfunc Sum(a, b int) int { return a - b }\n",
		"sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(1, 2) != 3 {\n" +
			"\t\tt.Error(Sum(1, 2))\n\t}\n}\n",
		"sub/sub.go":   "package sub\n\nfunc Double(n int) int { return 2 * n }\n",
		"package.json": `{"name":"web","version":"1.0.0","scripts":{"test":"node test.js"}}` + "\n",
		"web.js":       "module.exports = 'helo'\n",
		"test.js":      "if (require('./web.js') !== 'hello') { console.log('not hello'); process.exit(1) }\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := `git init -q -b main && git config user.name Ann && git config user.email ann@example.com && git add -A && git commit -q -m 'A sum' &&
		echo '// old' >> sum.go && git commit -q -am 'A remark' && echo draft > draft.txt`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// asked describes a question on the screen: what it is about, and the rules that its answer a
// allows.
func asked(screen string) (about, rules string) {
	if at := strings.LastIndex(screen, " wants to "); at >= 0 {
		screen = screen[at:]
	}
	about, _, _ = strings.Cut(screen, "Asked because")
	about = strings.Join(strings.Fields(about)[2:], " ")
	if _, after, ok := strings.Cut(screen, "\n  a  yes, and in this session always\n"); ok {
		offered, _, _ := strings.Cut(after, "\n  p ")
		rules = strings.Join(strings.Split(strings.TrimSpace(offered), "\n       "), " and ")
	}
	return about, rules
}

// Ten ordinary sessions ask at most twice each, if the person allows the pattern that is offered,
// and never twice for the same pattern.
func TestL3_TenOrdinarySessions(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"git", "go", "npm", "rg"} {
		peer.Need(t, program)
	}
	var env []string
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	var mu sync.Mutex
	table := map[string]string{}
	t.Cleanup(func() { // after the sessions
		all := 0
		for _, name := range slices.Sorted(maps.Keys(workday())) {
			questions := strings.Count(table[name], "\n")
			t.Logf("%s: %d questions%s", name, questions, table[name])
			all += questions
		}
		if all > 14 {
			t.Errorf("the sessions have %d questions, and had 14", all)
		}
	})
	for name, calls := range workday() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var turns []fakellm.Turn
			for _, call := range calls {
				turns = append(turns, say("", call))
			}
			url, server := serve(t, nil, append(turns, say("Done."))...)
			h := newHome(t, url)
			newRepository(t, h.dir)
			cmd := askingRun(t, h, name)
			cmd.Env = append(cmd.Env, append(env, "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod", "TERM=xterm-256color")...)
			p := startOnTerminal(t, cmd)
			questions, rules := 0, map[string]bool{}
			for from := 0; p.next(render.AskLabel) != ""; from = p.seen {
				p.mu.Lock()
				about, allow := asked(p.screen[from:p.seen])
				p.mu.Unlock()
				questions++
				mu.Lock()
				table[name] += fmt.Sprintf("\n  %.90s  [a: %s]", about, allow)
				mu.Unlock()
				if allow == "" {
					p.write("y\n")
					continue
				}
				if rules[allow] {
					t.Errorf("asked again for %s", allow)
				}
				rules[allow] = true
				p.write("a\n")
			}
			screen, code := p.wait()
			if questions > 2 || code != 0 {
				t.Errorf("%d questions, exit code %d:\n%s", questions, code, screen)
			}
			if results := server.Requests(); strings.Contains(lastResults(results[len(results)-1].Messages),
				"not permitted") {
				t.Errorf("a call was refused:\n%s", screen)
			}
		})
	}
}
