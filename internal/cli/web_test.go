//go:build unix

package cli

import (
	"slices"
	"strings"
	"testing"
)

// The flag --web offers the tool under the dialect's name. The rules decide about its hosts:
// without one that allows a host nobody may reach it, and --yes does not make private hosts public.
func TestL8_RunWithWeb(t *testing.T) {
	for name, c := range map[string]struct {
		flags []string
		tool  string
		want  string
	}{
		"allowed": {[]string{"--yes", "--web"}, "web_fetch", "localhost is a name inside a private network"},
		"native": {[]string{"--yes", "--web", "--native"}, "WebFetch",
			"localhost is a name inside a private network"},
		"read-only": {[]string{"--read-only", "--web"}, "web_fetch", "localhost is a name inside a private network"},
		"off":       {[]string{"--yes"}, "web_fetch", `unknown tool "web_fetch"`},
	} {
		t.Run(name, func(t *testing.T) {
			url, server := serve(t, nil,
				say("", use(c.tool, map[string]any{"url": "http://localhost/", "prompt": "anything"})), say("done"))
			cmd := attractorCommand(t, append([]string{"run", "--base-url", url, "--dir", t.TempDir(), "look"},
				c.flags...)...)
			cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=k", "HOME="+t.TempDir())
			if got := runCommand(t, cmd); got.code != 0 {
				t.Fatalf("exit code %d, stderr %s", got.code, got.stderr)
			}
			if results := lastResults(server.Requests()[1].Messages); !strings.Contains(results, c.want) {
				t.Errorf("results:\n%s", results)
			}
		})
	}
	for flag, want := range map[string]string{"": "web_fetch", "--native": "WebFetch"} {
		flags := slices.DeleteFunc([]string{"--web", flag}, func(f string) bool { return f == "" })
		if names := toolNames(t, flags...); names[len(names)-1] != want {
			t.Errorf("%v: the tools are %v", flags, names)
		}
	}
}

// A public host is asked about. In a session in which nobody is asked, it is refused.
func TestL8_AHostNeedsARule(t *testing.T) {
	url, server := serve(t, nil, say("", use("web_fetch", map[string]any{"url": "https://attractor-test.invalid/"})),
		say("done"))
	cmd := attractorCommand(t, "run", "--base-url", url, "--read-only", "--web", "--dir", t.TempDir(), "look")
	cmd.Env = append(cmd.Env, "ANTHROPIC_API_KEY=k", "HOME="+t.TempDir())
	if got := runCommand(t, cmd); got.code != 0 {
		t.Fatalf("exit code %d, stderr %s", got.code, got.stderr)
	}
	if results := lastResults(server.Requests()[1].Messages); !strings.Contains(results, "attractor-test.invalid") ||
		strings.Contains(results, "was not fetched") {
		t.Errorf("results:\n%s", results)
	}
}
