package env_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
)

func TestAC4_6_Corpus(t *testing.T) {
	others := map[string]string{"secret_sink": "read by the tests of secret/masked",
		"model_supplied_env": "waits for rules for the variables that a model sets"}
	left := map[string]int{}
	ran := 0
	for _, c := range corpus[struct {
		ID, Kind, Name, Value string
		Passed                any `json:"passed_to_child"`
	}](t, "secrets_env") {
		if c.Kind != "child_env" {
			if left[c.Kind]++; others[c.Kind] == "" {
				t.Errorf("%s: a case of the unknown kind %s", c.ID, c.Kind)
			}
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			entry := c.Name + "=" + c.Value
			kept := env.FilterVars(env.VarsDefault, []string{entry}, nil)
			if got := slices.Equal(kept, []string{entry}); got != c.Passed {
				t.Errorf("%s is passed on: %v, want %v", c.Name, got, c.Passed)
			}
		})
	}
	if ran == 0 {
		t.Error("the corpus has no case of the kind child_env")
	}
	for kind, n := range left {
		t.Logf("secrets_env: %d cases of the kind %s: %s", n, kind, others[kind])
	}
}

func TestD6_Policies(t *testing.T) {
	environ := []string{"PATH=/bin", "EDITOR=vi", "STRIPE_KEY=sk", "ANTHROPIC_API_KEY=a", "openai_api_key=b",
		"LC_ALL=C", "MINE=m", "GOPATH=/go", "=C:=C:\\", "junk"}
	for policy, want := range map[env.VarPolicy]string{
		env.VarsDefault:   "PATH EDITOR LC_ALL GOPATH",
		env.VarsAll:       "PATH EDITOR STRIPE_KEY LC_ALL GOPATH",
		env.VarsCore:      "PATH LC_ALL GOPATH",
		env.VarsNone:      "",
		env.VarPolicy(77): "",
	} {
		t.Run(policy.String(), func(t *testing.T) {
			var names []string
			for _, entry := range env.FilterVars(policy, environ, []string{"mine"}) {
				name, _, _ := strings.Cut(entry, "=")
				names = append(names, name)
			}
			if got := strings.Join(names, " "); got != want {
				t.Errorf("passes on %q, want %q", got, want)
			}
		})
	}
}

// Every policy except VarsNone passes on what every command needs.
func TestI17_WhatEveryCommandNeeds(t *testing.T) {
	for _, name := range []string{"PATH", "HOME", "USER", "SHELL", "LANG", "TERM", "TMPDIR"} {
		for _, policy := range []env.VarPolicy{env.VarsDefault, env.VarsAll, env.VarsCore} {
			if got := env.FilterVars(policy, []string{name + "=x"}, nil); len(got) != 1 {
				t.Errorf("policy %v drops %s", policy, name)
			}
		}
	}
}

func TestD6_DropVarsBeatsCore(t *testing.T) {
	if got := env.FilterVars(env.VarsAll, []string{"PATH=/bin", "HOME=/h"}, []string{"Path"}); !slices.Equal(got,
		[]string{"HOME=/h"}) {
		t.Errorf("passes on %q", got)
	}
}

func TestD6_Names(t *testing.T) {
	for _, name := range []string{
		"GITHUB_PAT", "npm_config__authToken", "apiKey", "MYSQL_PWD", "DB_PASS", "GITHUBTOKEN", "SLACK_WEBHOOK_URL",
		"SESSION_COOKIE",
		"AZURE_STORAGE_CONNECTION_STRING", "AWS_SHARED_CREDENTIALS_FILE", "spring.datasource.password",
		"SSH_PRIVATE_KEY", "PGPASSFILE", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
	} {
		if got := env.FilterVars(env.VarsDefault, []string{name + "=x"}, nil); len(got) != 0 {
			t.Errorf("%s is passed on", name)
		}
	}
	for _, name := range []string{
		"OLDPWD", "PWD", "MAX_TOKENS", "TOKENIZERS_PARALLELISM", "GIT_AUTHOR_NAME", "KEYBOARD", "PUBLIC_URL",
		"GOPRIVATE", "CI",
		"OTP_VERSION", "PASSENGER_ENV", "COMPASS", "SECRETARY", "BASE_URL", "HTTP_PROXY", "npm_config_registry",
		"PATHEXT",
	} {
		if got := env.FilterVars(env.VarsDefault, []string{name + "=https://host:80/a@b:c"}, nil); len(got) != 1 {
			t.Errorf("%s is dropped", name)
		}
	}
}

func TestD6_URLWithPassword(t *testing.T) {
	for value, passed := range map[string]bool{
		"http://user:pass@proxy:3128": false, "postgres://u:p%40@h/db?x=1": false, "http://proxy:3128": true,
		"ssh://git@github.com/x": true, "http://h/p?q=a:b@c": true, "user:pass@host": true,
	} {
		if got := len(env.FilterVars(env.VarsDefault, []string{"THING=" + value}, nil)) == 1; got != passed {
			t.Errorf("%s is passed on: %v, want %v", value, got, passed)
		}
	}
}

// noEditor is what git runs in place of an editor.
const noEditor = `sh -c 'echo "There is no editor here: use -m, --no-edit or GIT_EDITOR=true." >&2; exit 1'`

// A command sees exactly the variables that the filter passes on, and those that say that nobody is
// there.
func TestD6_CommandsSeeTheFilteredVariables(t *testing.T) {
	t.Setenv("ATTRACTOR_TEST_HOST", "host")
	l := newLocal(t, t.TempDir(), env.LocalOptions{
		Environ:  []string{"PATH=/usr/bin:/bin", "HOST_KEY=k", "PLAIN=p", "OWN=o", "LATER=no"},
		DropVars: []string{"own"},
		Env:      []string{"ADDED_TOKEN=t", "LATER=yes"},
	})
	var out capture.Buffer
	if _, err := env.Run(t.Context(), l, env.Command{Script: "env", Env: []string{"PER_COMMAND=c", "PLAIN=q"},
		Output: out.Write}, 0); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.Text()) {
		name, _, _ := strings.Cut(line, "=")
		// set by the shell itself
		if name != env.MarkVar && name != "_" && name != "SHLVL" && name != "PWD" && name != "OLDPWD" {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	want := []string{"ADDED_TOKEN=t", "GIT_EDITOR=" + noEditor, "GIT_SEQUENCE_EDITOR=" + noEditor,
		"GIT_TERMINAL_PROMPT=0", "LATER=yes", "PAGER=cat", "PATH=/usr/bin:/bin",
		"PER_COMMAND=c", "PLAIN=q", "SSH_ASKPASS=false"}
	if !slices.Equal(got, want) {
		t.Errorf("the command sees %q, want %q", got, want)
	}
}
