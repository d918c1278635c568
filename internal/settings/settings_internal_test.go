package settings

import (
	"slices"
	"strings"
	"testing"
)

// FuzzN8_Settings reads arbitrary files. Each value is one that a flag takes, and every mistake
// names the file.
func FuzzN8_Settings(f *testing.F) {
	for _, seed := range []string{`{}`, `{"model": "m", "max_rounds": 5}`, `{"rules": ["a", 1]}`, `[1]`,
		`{"limit": "memory=2g", "limit": "x"}`, "\xef\xbb\xbf{\"web\": true}", `{"instructions": "@~/x"}`,
		`{"budget_usd": 1e400}`, `{"max_turns": 0.5, "idle_timeout": "-1s"}`, `{"a` + "\n",
		`{"mcp": ["../x"], "$schema": 5}`, strings.Repeat(`{"a":`, 100)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, place := range []Place{PlaceUser, PlaceProject} {
			values, mistakes := parse("/home/me/config.json", data, place, "/home/me")
			for _, v := range values {
				s, err := find(v.Key)
				if err != nil || v.Origin.Line < 1 || len(v.Text) > maxItems || s.take(v.Text) != nil {
					t.Errorf("%+v, %v", v, err)
				}
			}
			if len(mistakes) > maxMistakes {
				t.Errorf("%d mistakes are told", len(mistakes))
			}
			for _, m := range mistakes {
				if !strings.HasPrefix(m.Error(), "/home/me/config.json, line ") || strings.ContainsAny(m.Error(),
					"\x00\x1b\u202e") {
					t.Errorf("a mistake is told as %q", m)
				}
			}
		}
	})
}

// project returns a file of a trusted project.
func project(text string) ProjectFile {
	return ProjectFile{Name: "/project/.attractor/config.json", Data: []byte(text)}
}

// A trusted project chooses nothing that sends requests elsewhere, permits more, costs more or
// concerns the user's own files, whatever stands in its file. Every setting is in this list or in
// that of the settings which a project can choose.
func TestN8_ConfigProjectCannot(t *testing.T) {
	cannot := map[string][]string{ // with values to which the settings would have to be set
		"provider": {`"openai"`}, "model": {`"m"`}, "cache_lifetime": {`"1h"`}, "keep_cache": {"true", "false"},
		"fallback": {`["openai/m"]`, `[]`},
		"base_url": {`"http://127.0.0.1:1"`}, "key_command": {`"id"`},
		"providers": {`{"work": {"base_url": "http://127.0.0.1:1"}}`, `{}`}, "idle_timeout": {`"1s"`},
		"context_window": {"1"},
		"profile":        {`"openai"`},
		"instructions":   {`"@/etc/passwd"`, `"x"`}, "web": {"true"}, "mcp": {`["x.json"]`},
		"no_mcp":         {"true", "false"},
		"no_checkpoints": {"true", "false"}, "no_hooks": {"true"}, "strict_hooks": {"false"},
		"mode": {`"full"`, `"ask"`, `"plan"`}, "allow_tool": {`["Bash"]`}, "deny_tool": {`["Bash"]`},
		"add_dir": {`["/"]`}, "rules": {`["x.json"]`}, "sandbox": {`"off"`, `"workspace-weak"`},
		"unasked": {`"observe"`, `"off"`}, "network": {"true", "false"}, "allow_host": {`["x.com"]`},
		"allow_socket": {`["/run/x"]`},
		"limit":        {`"processes=none"`, `"processes=200"`, `"memory=3g"`, `"file-size=1,memory=none"`},
		"max_rounds":   {"0", "301"}, "max_turns": {"0", "31"}, "budget_usd": {"0", "5.01"},
		"budget_tokens": {"0", "1001"},
		"no_journal":    {"true", "false"}, "keep_outputs": {"1"}, "max_journal": {"1"}, "diffs": {"1"},
	}
	users := []Value{{Key: "sandbox", Text: []string{"workspace"}}, {Key: "strict_hooks", Text: []string{"true"}},
		{Key: "max_rounds", Text: []string{"300"}}, {Key: "max_turns", Text: []string{"30"}},
		{Key: "budget_usd", Text: []string{"5"}}, {Key: "budget_tokens", Text: []string{"1000"}},
		{Key: "limit", Text: []string{"processes=100,memory=2g"}}}
	for i := range users {
		users[i].Origin = Origin{Place: PlaceUser, Name: "/home/me/config.json", Line: i + 1}
	}
	for key, values := range cannot {
		for _, value := range values {
			s := Choose(users, false)
			problems := s.UseProject(project(`{"` + key + `": ` + value + `}`))
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), ", line 1: "+key+" has no effect") {
				t.Errorf("%s %s: told was %v", key, value, problems)
			}
			for _, v := range s.Counting(key) {
				if v.Origin.Place == PlaceProject {
					t.Errorf("a project sets %s to %s", key, value)
				}
			}
		}
	}
	can := map[string]string{"effort": `"high"`, "native": "true", "lsp": `"auto"`, "web": "false",
		"web_search":   "false",
		"strict_hooks": "true", "sandbox": `"read-only"`, "limit": `"processes=100,memory=1g,open-files=50"`,
		"max_rounds": "299", "max_turns": "1", "on_limit": `"summarize"`, "budget_usd": "4.99", "budget_tokens": "999"}
	for key, value := range can {
		s := Choose(users, false)
		if problems := s.UseProject(project(`{"` + key + `": ` + value + `}`)); problems != nil {
			t.Errorf("%s %s: %v", key, value, problems)
		}
		if v := s.Counting(key); len(v) == 0 || v[0].Origin.Place != PlaceProject {
			t.Errorf("%s %s does not count: %+v", key, value, s.All(key))
		}
	}
	for _, s := range All() {
		if cannot[s.Key] == nil && can[s.Key] == "" {
			t.Errorf("decide whether a project can choose %s", s.Key)
		}
		if (s.Project == RightNone) != (s.Why != "") {
			t.Errorf("%s needs a reason, and only what a project cannot choose", s.Key)
		}
	}
}

// What the user has said on the command line or by a variable counts more than the project.
func TestN8_ConfigAboveProject(t *testing.T) {
	for _, place := range []Place{PlaceUser, PlaceEnvironment, PlaceFlag} {
		s := Choose([]Value{{Key: "max_rounds", Text: []string{"500"}, Origin: Origin{Place: place, Name: "there"}}},
			false)
		problems := s.UseProject(project(`{"max_rounds": 50}`))
		if got := s.Get("max_rounds"); len(problems) > 0 || (got.Origin.Place == PlaceProject) != (place == PlaceUser) {
			t.Errorf("with a value of %s counts %+v, %v", place, got, problems)
		}
	}
	untrusted := project(`{"max_rounds": 50, "model": "m", "nonsense": 1}`)
	untrusted.Unused = "nobody trusts it"
	s := Choose(nil, false)
	if problems := s.UseProject(untrusted); len(problems) != 1 || s.Get("max_rounds") != nil || s.Get("model") != nil {
		t.Errorf("an untrusted project: %v, %+v", problems, s)
	}
	if keys := s.Without(untrusted.Unused); !slices.Equal(keys, []string{"max_rounds"}) {
		t.Errorf("not used for want of trust are %v", keys)
	}
}

// What belongs to a provider does not go to another one, and what cannot be used together is not.
func TestN8_ConfigChooses(t *testing.T) {
	file := func(place Place, pairs ...string) (values []Value) {
		for i := 0; i < len(pairs); i += 2 {
			values = append(values, Value{Key: pairs[i], Text: []string{pairs[i+1]},
				Origin: Origin{Place: place, Name: place.String()}})
		}
		return values
	}
	own := file(PlaceUser, "provider", "openai-compatible", "model", "mine", "base_url", "http://localhost:1/v1",
		"profile", "openai", "effort", "high")
	for _, c := range []struct {
		name    string
		values  []Value
		resumes bool
		want    string // the keys that count, and their values
	}{
		{"nothing above", own, false,
			"provider=openai-compatible model=mine base_url=http://localhost:1/v1 profile=openai effort=high"},
		{"another provider", append(file(PlaceFlag, "provider", "anthropic"), own...), false,
			"provider=anthropic effort=high"},
		{"another provider in a variable", append(file(PlaceEnvironment, "provider", "anthropic", "model", "theirs"),
			own...), false, "provider=anthropic model=theirs effort=high"},
		{"the same provider", append(file(PlaceFlag, "provider", "openai-compatible"), own...), false,
			"provider=openai-compatible model=mine base_url=http://localhost:1/v1 profile=openai effort=high"},
		{"another model", append(file(PlaceFlag, "model", "theirs"), own...), false,
			"model=theirs provider=openai-compatible base_url=http://localhost:1/v1 profile=openai effort=high"},
		{"a window beside another model", append(file(PlaceFlag, "model", "theirs"),
			file(PlaceUser, "model", "mine", "context_window", "5")...), false, "model=theirs"},
		{"a window beside the same model", append(file(PlaceFlag, "model", "mine"),
			file(PlaceUser, "model", "mine", "context_window", "5")...), false, "model=mine context_window=5"},
		{"a window of all models", append(file(PlaceFlag, "model", "theirs"),
			file(PlaceUser, "context_window", "5")...), false, "model=theirs context_window=5"},
		{"a window of another provider", append(file(PlaceFlag, "provider", "anthropic"),
			file(PlaceUser, "provider", "ollama", "context_window", "5")...), false, "provider=anthropic"},
		{"a model without a provider", append(file(PlaceFlag, "provider", "anthropic"),
			file(PlaceUser, "model", "mine")...), false, "provider=anthropic"},
		{"hosts without a sandbox", append(file(PlaceFlag, "sandbox", "off"),
			file(PlaceUser, "sandbox", "workspace", "network", "true", "allow_host", "x")...), false, "sandbox=off"},
		{"hosts with a sandbox", file(PlaceUser, "sandbox", "workspace", "allow_host", "x"), false,
			"sandbox=workspace allow_host=x"},
		{"hosts of a flag", file(PlaceFlag, "allow_host", "x"), false, "allow_host=x"},
		{"a session that is not kept", file(PlaceUser, "no_journal", "true", "keep_outputs", "5"), false,
			"no_journal=true"},
		{"an earlier session", file(PlaceUser, "no_journal", "true", "keep_outputs", "5"), true, "keep_outputs=5"},
		{"outputs are kept", append(file(PlaceFlag, "keep_outputs", "5"), file(PlaceUser, "no_journal", "true")...),
			false, "keep_outputs=5"},
		{"rules of all places", append(file(PlaceUser, "rules", "/b"), file(PlaceFlag, "rules", "/a")...), false,
			"rules=/a rules=/b"},
	} {
		var got []string
		for _, v := range Choose(c.values, c.resumes).values {
			if v.Unused == "" {
				got = append(got, v.Key+"="+v.One())
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

// Variables that choose nothing, because they are misspelled or stand for a flag that is no
// setting, are told.
func TestN8_ConfigStrayVariables(t *testing.T) {
	got := StrayVariables([]string{"ATTRACTOR_MODEE=full", "ATTRACTOR_YES=1", "ATTRACTOR_MODE=full",
		"ATTRACTOR_ACCESSIBLE=1", "MODE=full", "ATTRACTOR_"})
	if len(got) != 2 || !strings.Contains(got[0], "ATTRACTOR_MODEE chooses nothing; do you mean") ||
		!strings.Contains(got[0], "ATTRACTOR_MODE or") && !strings.Contains(got[0], "ATTRACTOR_MODE?") ||
		!strings.Contains(got[1], `ATTRACTOR_YES chooses nothing: write "mode": "full"`) {
		t.Errorf("told are %q", got)
	}
}

// Switches and numbers of variables, of programs and of files are written in one way, whatever they
// were.
func TestN8_ConfigIsNormal(t *testing.T) {
	vars := map[string]string{"ATTRACTOR_NO_HOOKS": "1", "ATTRACTOR_WEB": "F", "ATTRACTOR_MAX_TURNS": "0x10"}
	users, err := Users(func(name string) string { return vars[name] })
	if err != nil {
		t.Fatal(err)
	}
	mine, err := New("strict_hooks", []string{"T"}, Origin{Place: PlaceFlag})
	if err != nil {
		t.Fatal(err)
	}
	s := Choose(append(users, mine), false)
	for key, want := range map[string]string{"no_hooks": "true", "web": "false", "max_turns": "16",
		"strict_hooks": "true"} {
		if got := s.Get(key).One(); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	for key, texts := range map[string][]string{"web": {"perhaps"}, "max_turns": {"1", "2"}, "max_turn": {"1"},
		"mode": {"yolo"}} {
		if v, err := New(key, texts, Origin{}); err == nil {
			t.Errorf("%s %q is %+v", key, texts, v)
		}
	}
}
