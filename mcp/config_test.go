package mcp

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files of configurations")

// environment returns a Getenv that knows some variables.
func environment(vars map[string]string) func(string) (string, error) {
	return func(name string) (string, error) {
		value, ok := vars[name]
		switch {
		case value == "forbidden":
			return "", errors.New("nobody has allowed it")
		case !ok:
			return "", ErrUnset
		}
		return value, nil
	}
}

// Configurations as the vendors of servers document them, and what they mean.
func TestM2_ConfigurationsOfVendors(t *testing.T) {
	getenv := environment(map[string]string{"GITHUB_PAT": "ghp_one", "CONTEXT7_API_KEY": "c7", "HOME": "/home/user"})
	files, err := filepath.Glob("testdata/config/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	total := 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		servers, problems, err := Parse(File{Name: "mcp.json", Data: data, Getenv: getenv})
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", name, err, problems)
		}
		total += len(servers)
		got := setFields(t, servers)
		golden := strings.TrimSuffix(name, ".json") + ".golden"
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if total < 10 {
		t.Errorf("only %d servers", total)
	}
}

// setFields returns the servers as JSON, without what is not set.
func setFields(t *testing.T, servers []Server) []byte {
	t.Helper()
	data, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		delete(one, "OAuth")
		delete(one, "File")
		for name, value := range one {
			if value == nil || value == "" || value == false || value == 0.0 {
				delete(one, name)
			}
		}
	}
	if data, err = json.MarshalIndent(list, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// Everything that a server can say is read.
func TestM2_AllMembers(t *testing.T) {
	servers, problems, err := Parse(File{Name: "f", Data: []byte("\xef\xbb\xbf" + `{"other": 1, "mcpServers": {
		"local": {"type": "stdio", "command": "${TOOL:-npx}", "args": ["-y", "${PKG}@${VERSION:-1}", "$HOME"], "env": {"A": "${PKG}", "B": ""},
			"cwd": "sub", "timeout": 90000, "startTimeout": 5000, "enabledTools": ["a"], "disabledTools": ["b"], "required": true, "trusted": true, "hosts": ["10.0.0.1"]},
		"away": {"url": "https://x.example/mcp", "headers": {"X-Key": "${PKG}"}, "callTimeout": 1000,
			"oauth": {"clientId": "me", "clientSecretVar": "PKG", "authServerMetadataUrl": "https://as.example", "scopes": "a b", "callbackPort": 8080}},
		"gone": {"command": "x", "disabled": true}
	}}`), Getenv: environment(map[string]string{"PKG": "pkg"})})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	want := []Server{
		{Name: "local", File: "f", Command: "npx", Args: []string{"-y", "pkg@1", "$HOME"},
			Env: map[string]string{"A": "pkg", "B": ""}, Dir: "sub", Hosts: []string{"10.0.0.1"},
			CallTimeout: 90 * time.Second, StartTimeout: 5 * time.Second, Enabled: []string{"a"},
			Disabled: []string{"b"}, Required: true, Trusted: true},
		{Name: "away", File: "f", URL: "https://x.example/mcp", Headers: map[string]string{"X-Key": "pkg"},
			CallTimeout: time.Second,
			OAuth: OAuth{ClientID: "me", ClientSecretVar: "PKG", MetadataURL: "https://as.example",
				Scopes: []string{"a", "b"}, CallbackPort: 8080}},
		{Name: "gone", File: "f", Off: true},
	}
	if diff := cmp.Diff(want, servers); diff != "" {
		t.Error(diff)
	}
}

// A mistake is told with its line and what to write, and the other servers of the file are used.
func TestM2_MistakesInServers(t *testing.T) {
	for text, want := range map[string]string{
		`7`:  "it must be an object",
		`{}`: "neither a command nor a url",
		`{"command": "x", "url": "http://localhost"}`: "a command and a url",
		`{"command": 7}`:                                                          `command must be a string, not the number 7`,
		`{"command": "x", "args": "y"}`:                                           `args must be an array of strings`,
		`{"command": "x", "args": [1]}`:                                           `put each value into quotes`,
		`{"command": "x", "args": ["-y", null]}`:                                  `args must be an array of strings`,
		`{"command": "x", "env": {"A": true}}`:                                    `env: A must be a string, not true`,
		`{"command": "x", "env": {"A=B": ""}}`:                                    `cannot be a name`,
		`{"command": "x", "env": {"A": "", "A": ""}}`:                             `A is there twice`,
		`{"command": "x", "command": "y"}`:                                        `command is there twice`,
		`{"command": "x", "timeout": 30}`:                                         `timeout is in milliseconds: write 30000 for 30 seconds`,
		`{"command": "x", "timeout": "30s"}`:                                      `must be a whole number from 1000`,
		`{"command": "x", "timeout": 1000, "callTimeout": 1000}`:                  `mean the same`,
		`{"command": "x", "headers": {}}`:                                         `headers are for a server with a url`,
		`{"url": "https://x.example", "args": []}`:                                `are for a server with a command`,
		`{"url": "http://x.example"}`:                                             `use https`,
		`{"url": "https://x.example", "headers": {"A": "b\nc"}}`:                  `line break`,
		`{"type": "sse", "url": "https://x.example"}`:                             `streamable HTTP`,
		`{"type": "stdio", "url": "https://x.example"}`:                           `needs a command`,
		`{"type": "http", "command": "x"}`:                                        `needs a url`,
		`{"type": "local", "command": "x"}`:                                       `the types are stdio and http`,
		`{"command": "${NOPE}"}`:                                                  `the variable NOPE is not set; set it, or write ${NOPE:-default}`,
		`{"command": "${FORBIDDEN:-x}"}`:                                          `nobody has allowed it`,
		`{"url": "https://x.example", "oauth": {"clientSecretVar": "FORBIDDEN"}}`: `nobody has allowed it`,
		`{"command": "${env:NOPE}"}`:                                              `write ${NOPE} for ${env:NOPE}`,
		`{"command": "${workspaceFolder}/x"}`:                                     `the variable workspaceFolder is not set`,
		`{"command": "${input:key}"}`:                                             `is not known here`,
		`{"command": "${"}`:                                                       `without a }`,
		`{"command": "x", "enabledTools": []}`:                                    `enabledTools is empty`,
		`{"command": "x", "enabled_tools": ["a"]}`:                                `write "enabledTools"`,
		`{"command": "x", "hosts": ["a/b"]}`:                                      `hosts: `,
		`{"command": "x", "required": "yes"}`:                                     `must be true or false`,
		`{"url": "https://x.example", "oauth": {"clientSecret": "x"}}`:            `does not belong into the file`,
		`{"url": "https://x.example", "oauth": {"callbackPort": 70000}}`:          `from 1 to 65535`,
		`{"bearer_token_env_var": "X", "url": "https://x.example"}`:               `"Bearer ${NAME}"`,
	} {
		file := "{\"mcpServers\": {\n\"good\": {\"command\": \"x\"},\n\n\"bad\": " + text + "}}"
		servers, problems, err := Parse(File{Name: "the.json", Data: []byte(file),
			Getenv: environment(map[string]string{"FORBIDDEN": "forbidden"})})
		if err != nil || len(servers) != 2 || servers[0].Off || !servers[1].Off || len(problems) == 0 {
			t.Errorf("%s: %v, %v, %v", text, servers, problems, err)
			continue
		}
		if got := errors.Join(problems...).Error(); !strings.Contains(got, want) ||
			!strings.HasPrefix(got, "the.json, line 4: the server bad: ") {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What has no effect is told, and the server is used.
func TestM2_MembersWithoutEffect(t *testing.T) {
	for text, want := range map[string]string{
		`"timout": 1`:                     "timout is not known, so it has no effect; did you mean timeout?",
		`"wholly": 1`:                     "the members are type, command",
		`"alwaysAllow": ["a"]`:            "permission rules",
		`"startup_timeout_sec": 3`:        `write "startTimeout"`,
		`"description": "it does things"`: "",
		`"trusted": true`:                 "only the user can say",
	} {
		file := `{"mcpServers": {"one": {"command": "x", ` + text + `}}}`
		servers, problems, err := Parse(File{Name: "f", Data: []byte(file), Origin: Project})
		if err != nil || len(servers) != 1 || servers[0].Trusted {
			t.Errorf("%s: %+v, %v", text, servers, err)
		}
		if (want != "") != (len(problems) > 0) || want != "" && !strings.Contains(problems[0].Error(), want) {
			t.Errorf("%s: %v, want %q", text, problems, want)
		}
	}
}

// A file that is none is told with the line.
func TestM2_MistakesInFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "the file ends too early",
		"{\n\"mcpServers\": {\n":              "line 2: the file ends too early",
		"{\n // servers\n\"mcpServers\": {}}": "line 2: JSON has no comments",
		"{\n\"mcpServers\": {},\n}":           "line 3: it is not JSON",
		"[]":                                  "must be an object",
		"{} {}":                               "after the end",
		`{"mcpServers": []}`:                  "not an array",
		"{\"mcpServers\": {},\n\"mcpServers\": {}}": "line 2: mcpServers is there twice, first on line 1",
		`{"servers": {"a": {"command": "x"}}}`:      "servers must be called mcpServers",
		`{"a": {"command": "x"}}`:                   "must stand inside of mcpServers",
		`{}`:                                        "it has no servers",
		strings.Repeat("[", 50):                     "inside each other",
		`{"mcpServers": {"a": ` + strings.Repeat(`{"a":`, 100): "inside each other",
	} {
		if servers, _, err := Parse(File{Name: "the.json", Data: []byte(text)}); err == nil ||
			!strings.HasPrefix(err.Error(), "the.json: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, servers, err, want)
		}
	}
	if _, problems, err := Parse(File{Name: "f",
		Data: []byte(`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}, "": {}, "b\u0007": {"command": "x"}}}`)}); err != nil || len(problems) < 4 {
		t.Errorf("%v, %v", problems, err)
	}
}

// Of servers with one name the first counts, and the others are told.
func TestM2_FirstNameWins(t *testing.T) {
	servers, shadowed := Merge([]Server{{Name: "a", File: "1"}, {Name: "a", File: "2"}},
		[]Server{{Name: "b", File: "3"}, {Name: "a", File: "3"}})
	if len(servers) != 2 || servers[0].File != "1" || servers[1].Name != "b" {
		t.Errorf("%+v", servers)
	}
	if len(shadowed) != 2 ||
		shadowed[1].Error() != "the server a of 3 is not used, because 1 has one with the same name" {
		t.Errorf("%v", shadowed)
	}
}

// A server that its user has disabled, or that has a mistake, keeps its name from a project's
// server, for which the user's rules would count.
func TestM12_DisabledServersKeepTheirNames(t *testing.T) {
	mine, problems, err := Parse(File{Name: "mine",
		Data: []byte(`{"mcpServers": {"off": {"command": "x", "disabled": true}, "broken": {"command": 7}, "twice": {"command": "x"}, "twice": {"command": "y"}}}`)})
	if err != nil || len(problems) != 3 {
		t.Fatal(err, problems)
	}
	theirs, problems, err := Parse(File{Name: "theirs", Origin: Project,
		Data: []byte(`{"mcpServers": {"off": {"command": "x"}, "broken": {"command": "x"}, "twice": {"command": "x"}, "other": {"command": "x"}}}`)})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	servers, shadowed := Merge(mine, theirs)
	if len(servers) != 1 || servers[0].Name != "other" || len(shadowed) != 3 || !strings.Contains(shadowed[0].Error(),
		"the server off of theirs is not used, because mine") {
		t.Errorf("%+v, %v", servers, shadowed)
	}
}

func FuzzM2_Parse(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a": {"command": "${A:-b}", "args": ["x"], "env": {"A": "b"}, "timeout": 5000}, "b": {"url": "https://x.example", "oauth": {}}}}`))
	f.Add([]byte(`{"mcpServers": {"a": null, "b": {"args": null, "env": [], "timeout": 1e9, "hosts": [""]}}}`))
	f.Add([]byte("\xef\xbb\xbf{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, problems, err := Parse(File{Name: "f", Data: data, Origin: Project,
			Getenv: environment(map[string]string{"A": "x"})})
		if err != nil && len(servers)+len(problems) > 0 {
			t.Fatal("both an error and servers")
		}
		names := Names(data)
		for i := range servers {
			s := &servers[i]
			if wrong := s.Check(); wrong != nil && !s.Off || s.Trusted {
				t.Fatalf("%+v: %v", s, wrong)
			}
			if !slices.Contains(names, s.Name) {
				t.Fatalf("Names does not have %q", s.Name)
			}
		}
	})
}

// The words after a prompt's name become its arguments.
func TestM2_ArgumentsOfPrompts(t *testing.T) {
	p := &Prompt{Name: "mcp__s__p", Arguments: []PromptArgument{{Name: "who"}, {Name: "how"}}}
	for line, want := range map[string]map[string]string{
		"":                       {},
		"Ada":                    {"who": "Ada"},
		` "Ada L"  'so so' `:     {"who": "Ada L", "how": "so so"},
		"it's how=fine and well": {"who": "it's and well", "how": "fine"},
		"a b c d":                {"who": "a", "how": "b c d"},
		`x=1 how="a b"`:          {"who": "x=1", "how": "a b"},
		`one "two three`:         {"who": "one", "how": `"two three`},
		`""`:                     {"who": ""},
	} {
		got, err := p.Fill(line)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v, %s", line, err, diff)
		}
	}
	if _, err := (&Prompt{Name: "p"}).Fill("x"); err == nil {
		t.Error("a prompt without arguments takes one")
	}
}

// A shell would read some names of variables as functions.
func TestM12_NamesOfVariables(t *testing.T) {
	for origin, off := range map[Origin]bool{User: false, Project: true} {
		list, problems, err := Parse(File{Name: "f",
			Data:   []byte(`{"mcpServers": {"s": {"command": "x", "env": {"BASH_FUNC_exec%%": "() { id; }"}}}}`),
			Origin: origin})
		if err != nil || len(list) != 1 || list[0].Off != off || (len(problems) > 0) != off {
			t.Errorf("a server of the %v: %v, %v, %v", origin, list, problems, err)
		}
	}
}
