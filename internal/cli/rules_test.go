//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inProject returns runs of the command in a directory with files, and a home directory with
// others.
func inProject(t *testing.T, files, home map[string]string) func(stdin string, args ...string) output {
	t.Helper()
	dir, homeDir := t.TempDir(), t.TempDir()
	for base, list := range map[string]map[string]string{dir: files, homeDir: home} {
		for name, content := range list {
			full := filepath.Join(base, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return func(stdin string, args ...string) output {
		t.Helper()
		cmd := attractorCommand(t, args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(cmd.Env, "HOME="+homeDir)
		return runCommand(t, cmd)
	}
}

func TestL3_RulesCheck(t *testing.T) {
	run := inProject(t, map[string]string{
		"more.json":             `{"permissions": {"allow": ["Bash(make:*)"], "deny": ["Read(/secret)", "Bash(curl:*)"]}}`,
		"broken.json":           "{\"permissions\": {\n\"allow\": [\"Bsh\"],\n\"deni\": []}}",
		".claude/settings.json": `{"permissions": {"allow": ["Bash(npm test)"], "deny": ["Bash(npm publish:*)"]}}`,
	}, map[string]string{
		".claude/settings.json":                  `{"model": "x", "permissions": {"allow": ["Bash(go test:*)", "Bash(node -e \":*)"], "defaultMode": "bypassPermissions"}}`,
		".local/state/attractor/rules.json":      `{"permissions": {"ask": ["Bash(go test -exec *)"]}}`,
		".local/state/attractor/unrelated/x.txt": "",
	})
	for _, c := range []struct {
		args           []string
		stdin          string
		code           int
		stdout, stderr string
	}{
		{[]string{"ls"}, "", 0, "allow\n", ""},
		{[]string{"go test ./..."}, "", 0, "allow: Bash(go test:*) (", ""},
		{[]string{"go test -exec x ./..."}, "", exitAsk, "ask: Bash(go test -exec *) (", ""},
		{[]string{"npm test"}, "", exitAsk, "ask: npm test: ", ""},
		{[]string{"npm test", "--trust-project"}, "", 0, "allow: Bash(npm test) (", ""},
		{[]string{"npm publish"}, "", exitDeny, "deny: Bash(npm publish:*) (", ""},
		{[]string{"make x"}, "", exitAsk, "ask", ""},
		{[]string{"make x", "--rules", "more.json"}, "", 0, "allow: Bash(make:*) (more.json:1)", ""},
		{[]string{"make x", "--rules", "more.json", "--json"}, "", 0,
			`{"decision":"allow","rule":"Bash(make:*) (more.json:1)","reason":""}` + "\n", ""},
		{[]string{"make; curl x", "--rules", "more.json"}, "", exitDeny,
			"deny: Bash(curl:*) (more.json:1): a rule denies it: Bash(curl:*)", ""},
		{[]string{"-", "--rules", "more.json"}, `{"tool": "Read", "path": "secret"}`, exitDeny,
			`{"decision":"deny","rule":"Read(/secret) (more.json:1)",`, ""},
		{[]string{"-"}, `{"tool": "Edit", "path": "x"}` + "\n\n" + `{"command": "ls"}` + "\n", 0,
			`{"decision":"ask","rule":"","reason":"it changes `, ""},
		{[]string{"-"}, `{"tool": "WebFetch", "host": "go.dev"}`, exitAsk, `{"decision":"ask"`, ""},
		{[]string{"-"}, `{"tool": "Bash"}`, exitUsage, "",
			"line 1 of standard input: Bash needs a command; a line is an object with tool and one of"},
		{[]string{"-"}, "{\"command\": \"ls\"}\nls", exitUsage, `{"decision":"allow"`,
			"line 2 of standard input: invalid character 'l'"},
		{[]string{"-"}, `{"cmd": "ls"}`, exitUsage, "", `unknown field "cmd"`},
		{[]string{"ls", "--rules", "broken.json"}, "", exitUsage, "",
			"broken.json:2: Bsh: there is no tool Bsh; did you mean Bash?\nbroken.json:3: \"deni\" is not a member " +
				"of permissions"},
		{[]string{"ls", "--rules", "none.json"}, "", exitUsage, "", "none.json: no such file"},
		{[]string{"ls", "--rules", "."}, "", exitUsage, "", ". is not a regular file"},
		{[]string{"ls", "x"}, "", exitUsage, "", `unexpected argument "x"`},
		{nil, "", exitUsage, "", "missing argument <command>; quote it"},
	} {
		got := run(c.stdin, append([]string{"rules", "check"}, c.args...)...)
		if got.code != c.code || !strings.HasPrefix(got.stdout, c.stdout) || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("%q: exit code %d, want %d\n%s%s", c.args, got.code, c.code, got.stdout, got.stderr)
		}
		if warned := strings.Contains(got.stderr, "warning: "); warned != (got.code != exitUsage ||
			strings.HasPrefix(c.stderr, "line ") || c.stderr == `unknown field "cmd"`) {
			t.Errorf("%q: the rule that is not understood is told: %v\n%s", c.args, warned, got.stderr)
		}
	}
}

// A mistake in any file of rules ends run before anything is run.
func TestL3_RunRefusesWrongRules(t *testing.T) {
	for _, c := range []struct {
		file string
		flag bool
	}{{"given.json", true}, {".attractor/rules.json", false}, {".claude/settings.local.json", false}} {
		url, server := serve(t, nil, say("no"))
		run := inProject(t, map[string]string{c.file: `{"permissions": {"deny": ["Bash(rm:* x)", "Read(!y)"]}}`}, nil)
		args := []string{"run", "--base-url", url, "--provider", "anthropic", "--yes"}
		if c.flag {
			args = append(args, "--rules", c.file)
		}
		got := run("", append(args, "task")...)
		if got.code != exitUsage || strings.Count(got.stderr, c.file+":1: ") != 2 || len(server.Requests()) != 0 {
			t.Errorf("%s: exit code %d, %d requests: %s", c.file, got.code, len(server.Requests()), got.stderr)
		}
	}
}

func TestL3_ToolObeysRules(t *testing.T) {
	run := inProject(t, map[string]string{"x": "content",
		"r.json": `{"permissions": {"deny": ["Read(x)"], "ask": ["Bash(echo:*)"]}}`}, nil)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"read_file", `{"file_path": "x"}`}, "content"},
		{[]string{"read_file", `{"file_path": "x"}`, "--rules", "r.json"}, "a rule denies it: Read(x)"},
		{[]string{"shell", `{"command": "cat ./x"}`, "--rules", "r.json"}, "a rule denies it: Read(x)"},
		{[]string{"shell", `{"command": "echo a b"}`, "--rules", "r.json"}, "a b"},
	} {
		if got := run("", append([]string{"tool"}, c.args...)...); !strings.Contains(got.stdout, c.want) {
			t.Errorf("%q: %s%s", c.args, got.stdout, got.stderr)
		}
	}
}
