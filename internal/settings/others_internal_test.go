package settings

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// otherHome returns a home directory with settings of other agents, and how to find it.
func otherHome(t *testing.T, files map[string]string) (home string, getenv func(string) string) {
	t.Helper()
	home = t.TempDir()
	for name, text := range files {
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, func(name string) string { return map[string]string{"HOME": home}[name] }
}

// What other agents' settings say about safety and models is honoured where there is something
// here that does the same. What would ask less is not, but for accept-edits, and is told.
func TestX5_OtherAgents(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		values     []string // key=value
		model      string   // provider=model effort
		noFull     bool
		notes      []string // the beginnings, after the name of the file
	}{
		"claude": {".claude/settings.json",
			`{"model": "opus", "effortLevel": "high", "env": {"A": "b", "N": 1}, "permissions": {"defaultMode": "plan",
			"additionalDirectories": ["~/lib", "../x"], "disableBypassPermissionsMode": "disable"},
			"sandbox": {"enabled": true, "network": {"allowedDomains": ["go.dev"]}, "excludedCommands": ["docker"]}, "apiKeyHelper": "x"}`,
			[]string{"mode=plan", "add_dir=~/lib", "sandbox=workspace", "allow_host=go.dev"}, "anthropic=opus high",
			true,
			[]string{"permissions.additionalDirectories", "sandbox.excludedCommands", "env.N", "apiKeyHelper"}},
		"claude asks nobody": {".claude/settings.json",
			`{"permissions": {"defaultMode": "bypassPermissions"}, "model": "opusplan", "sandbox": {"enabled": false}}`,
			nil, "", false, []string{"model", "permissions.defaultMode"}},
		"claude as usual": {".claude/settings.json", `{"permissions": {"defaultMode": "default"}, "model": "default"}`,
			nil, "", false, nil},
		"claude broken": {".claude/settings.json", `{`, nil, "", false, []string{"nothing of it counts: line 1: " +
			"the file ends too early"}},
		"claude no object": {".claude/settings.json", `[]`, nil, "", false, []string{"nothing of it counts: it must " +
			"be an object, not an array"}},
		"codex": {".codex/config.toml", "# mine\nmodel = \"gpt-6.1-sol\" # the best\nmodel_reasoning_effort='low'\n" +
			"approval_policy = \"never\"\nsandbox_mode = \"workspace-write\"\nnotify = [\n  \"a]\", # ]\n  'b',\n]\n" +
			"instructions = \"\"\"\nmodel = \"not this\"\n\"\"\"\n[sandbox_workspace_write]\nnetwork_access = true\n" +
			"writable_roots = [\"/x\"]\n[mcp_servers.docs]\ncommand = \"x\"\n[[more]]\nmodel = \"x\"\n",
			[]string{"sandbox=workspace", "network=true"}, "openai=gpt-6.1-sol low", false,
			[]string{"approval_policy", "sandbox_workspace_write.writable_roots", "mcp_servers"}},
		"codex with a profile": {".codex/config.toml", "profile = \"p\"\nmodel = \"a\"\nsandbox_mode = " +
			"\"danger-full-access\"\n[profiles.p]\nmodel = \"b\"\nsandbox_mode = \"read-only\"\n",
			[]string{"sandbox=read-only"}, "openai=b ", false, nil},
		"codex elsewhere": {".codex/config.toml", "model = \"a\"\nmodel_provider = \"mine\"\napproval_policy = " +
			"\"on-request\"\n", nil, "", false, []string{"model_provider"}},
		"codex too deep": {".codex/config.toml", "\na" + strings.Repeat(".a", 40_000) + " = 1\n", nil, "", false,
			[]string{"nothing of it counts: line 2: more than 32"}},
		"codex broken": {".codex/config.toml", "model\n", nil, "", false, []string{"nothing of it counts: line 1"}},
		"gemini": {".gemini/settings.json",
			`{"model": {"name": "gemini-3-pro"}, "general": {"defaultApprovalMode": "auto_edit"}, "tools": {"sandbox": true, "exclude": ["x"]},
			"security": {"disableYoloMode": true}, "context": {"includeDirectories": ["~/lib"]}}`,
			[]string{"mode=accept-edits", "sandbox=workspace", "add_dir=~/lib"}, "gemini=gemini-3-pro ", true,
			[]string{"tools.exclude"}},
		"gemini in a container": {".gemini/settings.json", `{"tools": {"sandbox": "docker"}, "model": "m"}`, nil,
			"gemini=m ", false, []string{"tools.sandbox"}},
	} {
		t.Run(name, func(t *testing.T) {
			home, getenv := otherHome(t, map[string]string{c.file: c.text, "lib/x": ""})
			o := ReadOthers(getenv)
			var values []string
			for _, v := range o.Values {
				values = append(values, v.Key+"="+strings.ReplaceAll(v.One(), home, "~"))
				if v.Origin.Place != PlaceOther || !strings.HasPrefix(v.Origin.Name, filepath.Join(home, c.file)+": ") {
					t.Errorf("%s is from %v", v.Key, v.Origin)
				}
			}
			model := ""
			for provider, m := range o.Models {
				model += provider + "=" + m.Model + " " + m.Effort
			}
			if !slices.Equal(values, c.values) || model != c.model || (o.NoFull != "") != c.noFull {
				t.Errorf("values %q, model %q, no full %q", values, model, o.NoFull)
			}
			if name == "claude" && !maps.Equal(o.Vars, map[string]string{"A": "b"}) {
				t.Errorf("the variables are %v", o.Vars)
			}
			if len(o.Notes) != len(c.notes) {
				t.Fatalf("the notes are %q", o.Notes)
			}
			for i, note := range o.Notes {
				if !strings.HasPrefix(note, filepath.Join(home, c.file)+": "+c.notes[i]) {
					t.Errorf("note %d is %q", i, note)
				}
			}
		})
	}
}

// What the user says here displaces what another agent's settings say, and the first of several of
// these counts.
func TestX5_OwnSettingsCountFirst(t *testing.T) {
	_, getenv := otherHome(t, map[string]string{".claude/settings.json": `{"permissions": {"defaultMode": "plan"}, "sandbox": {"enabled": true}}`,
		".codex/config.toml": "sandbox_mode = \"read-only\"\n", ".config/attractor/config.json": `{"mode": "ask"}`})
	users, err := Users(getenv)
	if err != nil {
		t.Fatal(err)
	}
	s := Choose(append(users, ReadOthers(getenv).Values...), false)
	if s.Get("mode").One() != "ask" || s.Get("sandbox").One() != "workspace" {
		t.Errorf("mode %s, sandbox %s", s.Get("mode").One(), s.Get("sandbox").One())
	}
	if all := s.All("sandbox"); len(all) != 2 || !strings.HasSuffix(all[1].Unused, "sandbox.enabled counts") {
		t.Errorf("%+v", all)
	}
}

// What another agent's settings say about the network counts only for the sandbox of the same file.
func TestX5_NetworkOfAnotherSandbox(t *testing.T) {
	const codex = "sandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\nnetwork_access = true\n"
	for name, c := range map[string]struct {
		own, claude, variable string
		network, hosts        string
	}{
		"its own sandbox":     {network: "true"},
		"that of a variable":  {variable: "read-only"},
		"that of config.json": {own: `{"sandbox": "workspace", "allow_host": ["go.dev"]}`, hosts: "go.dev"},
		"that of another agent": {claude: `{"sandbox": {"enabled": true, "network": {"allowedDomains": ["a.example"]}}}`,
			hosts: "a.example"},
		"hosts with that of config.json": {own: `{"sandbox": "workspace"}`,
			claude: `{"sandbox": {"enabled": true, "network": {"allowedDomains": ["a.example"]}}}`},
	} {
		files := map[string]string{".codex/config.toml": codex}
		if c.own != "" {
			files[".config/attractor/config.json"] = c.own
		}
		if c.claude != "" {
			files[".claude/settings.json"] = c.claude
		}
		_, home := otherHome(t, files)
		getenv := func(name string) string {
			if name == "ATTRACTOR_SANDBOX" {
				return c.variable
			}
			return home(name)
		}
		users, err := Users(getenv)
		if err != nil {
			t.Fatal(err)
		}
		s := Choose(append(users, ReadOthers(getenv).Values...), false)
		if s.Get("network").One() != c.network || s.Get("allow_host").One() != c.hosts {
			t.Errorf("%s: network %q, hosts %q", name, s.Get("network").One(), s.Get("allow_host").One())
		}
	}
}
