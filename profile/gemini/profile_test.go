package gemini_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/gemini"
	"github.com/attractor-go/attractor/tool"
)

func TestE1_Tools(t *testing.T) {
	want := []string{"read_file", "read_many_files", "write_file", "edit_file", "shell", "grep", "glob", "list_dir",
		"read_output", "process", "ask_user", "spawn_agent", "send_input", "wait", "close_agent"}
	p := gemini.Profile()
	if diff := cmp.Diff(want, names(p.Tools)); diff != "" {
		t.Error(diff)
	}
	for _, x := range p.Tools {
		if x.Name == "shell" && !strings.Contains(x.Description, " 10000 ms") {
			t.Errorf("shell has no timeout of 10 s: %s", x.Description)
		}
	}
}

func names(tools []tool.Tool) []string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}

func TestE3_Data(t *testing.T) {
	for dialect, p := range map[string]profile.Profile{"": gemini.Profile(), "native": gemini.Native()} {
		if p.Dialect != dialect || p.Provider != "gemini" || p.Sequential || p.Options != nil ||
			!slices.Equal(p.Documents, []string{"GEMINI.md"}) {
			t.Errorf("%q: %+v", dialect, p)
		}
		m, ok := catalog.New().Get(p.Provider, p.Model)
		if !ok || m.Window == 0 || !m.Takes("image") {
			t.Errorf("the catalog has %v %+v for the default model", ok, m)
		}
	}
	if newest := catalog.New().List("gemini")[0].ID; newest != gemini.DefaultModel {
		t.Errorf("the default model is %s, and the catalog's newest %s: see whether it should be the default",
			gemini.DefaultModel, newest)
	}
	a, b := gemini.Profile(), gemini.Profile()
	a.Tools[0], a.Documents[0] = tool.Tool{}, ""
	if b.Tools[0].Name == "" || b.Documents[0] == "" {
		t.Error("two profiles share their lists")
	}
}

// TestE3_PromptPromisesNothing checks that every word in backquotes is the name of a tool or a
// parameter.
func TestE3_PromptPromisesNothing(t *testing.T) {
	word := regexp.MustCompile("`([^`\n]+)`")
	programs := []string{"cd"}
	for _, p := range []profile.Profile{gemini.Profile(), gemini.Native()} {
		if len(p.Prompt) == 0 || len(p.Prompt) >= 8<<10 {
			t.Errorf("%q: the prompt has %d bytes", p.Dialect, len(p.Prompt))
		}
		known := slices.Clone(programs)
		var tools []string
		for _, x := range p.Tools {
			for name := range maps.Keys(parametersOf(t, x).Properties) {
				known = append(known, name)
			}
			if x.Needs == tool.NeedsNothing { // not every session has the others
				tools = append(tools, x.Name)
			}
		}
		mentioned := map[string]bool{}
		for _, m := range word.FindAllStringSubmatch(p.Prompt, -1) {
			mentioned[m[1]] = true
			if !slices.Contains(known, m[1]) && !slices.Contains(tools, m[1]) {
				t.Errorf("%q: the prompt speaks of `%s`, which is neither a tool that is always offered nor a "+
					"parameter", p.Dialect, m[1])
			}
		}
		for _, name := range tools {
			if !mentioned[name] {
				t.Errorf("%q: the prompt does not say what `%s` is for", p.Dialect, name)
			}
		}
		for _, name := range absent(p) { // also without backquotes, and in descriptions of tools
			as := regexp.MustCompile(`\b` + name + `\b`)
			if as.MatchString(p.Prompt) {
				t.Errorf("%q: the prompt has %s in it, which is a tool of the other dialect", p.Dialect, name)
			}
			for _, x := range p.Tools {
				if as.MatchString(x.Description) || as.Match(x.Parameters) {
					t.Errorf("%q: %s has %s in it, which is a tool of the other dialect", p.Dialect, x.Name, name)
				}
			}
		}
		for _, topic := range []string{"# How to work", "# Tools", "# Editing", "# Commands", "# Git", "# Safety",
			"# Final answer"} {
			if !strings.Contains(p.Prompt, topic) {
				t.Errorf("%q: there is nothing on %s", p.Dialect, topic)
			}
		}
	}
}

// absent returns the tools that only the other dialect has, except those whose names are ordinary
// words.
func absent(p profile.Profile) []string {
	list := append(names(gemini.Profile().Tools), names(gemini.Native().Tools)...)
	return slices.DeleteFunc(list, func(name string) bool {
		return !strings.Contains(name, "_") || slices.Contains(names(p.Tools), name)
	})
}

type schema struct {
	Type       any
	Minimum    *float64
	Required   []string
	Properties map[string]schema
	Items      *schema
}

func parametersOf(t *testing.T, x tool.Tool) schema {
	t.Helper()
	var s schema
	if err := json.Unmarshal(x.Parameters, &s); err != nil {
		t.Fatalf("%s: %v", x.Name, err)
	}
	return s
}

// vendors holds the tools that gemini-cli 0.61.0 sends for models from Gemini 3 on, as seen in its
// requests. A parameter has the form "name type", with a ! if it is required, and its minimum.
var vendors = map[string][]string{
	"list_directory": {"dir_path string!", "file_filtering_options object",
		"file_filtering_options.respect_gemini_ignore boolean",
		"file_filtering_options.respect_git_ignore boolean", "ignore array<string>"},
	"read_file": {"end_line integer >=1", "file_path string!", "start_line integer >=1"},
	"grep_search": {"after integer >=0", "before integer >=0", "case_sensitive boolean", "context integer >=0",
		"dir_path string",
		"exclude_pattern string", "fixed_strings boolean", "include_pattern string", "max_matches_per_file integer >=1",
		"names_only boolean",
		"no_ignore boolean", "pattern string!", "total_max_matches integer >=1"},
	"glob": {"case_sensitive boolean", "dir_path string", "pattern string!",
		"respect_gemini_ignore boolean", "respect_git_ignore boolean"},
	"replace": {"allow_multiple boolean", "file_path string!", "instruction string!",
		"new_string string!", "old_string string!"},
	"write_file": {"content string!", "file_path string!"},
	"run_shell_command": {"command string!", "delay_ms integer", "description string", "dir_path string",
		"is_background boolean"},
	"list_background_processes": {"wait_for_previous boolean"},
	"read_background_output":    {"delay_ms integer", "lines integer >=1", "pid integer!", "wait_for_previous boolean"},
	"invoke_agent":              {"agent_name string!", "prompt string!", "wait_for_previous boolean"},

	// Left out: see Native.
	"web_fetch": nil, "google_web_search": nil, "update_topic": nil, "enter_plan_mode": nil, "activate_skill": nil,
}

func TestE2_NativeParameters(t *testing.T) {
	own := []string{"read_output", "process", "ask_user"}
	offered := map[string]bool{}
	for _, x := range gemini.Native().Tools {
		offered[x.Name] = true
		if slices.Contains(own, x.Name) {
			continue
		}
		want, ok := vendors[x.Name]
		if !ok || want == nil {
			t.Errorf("gemini-cli has no tool %s, or it is said to be left out", x.Name)
			continue
		}
		if diff := cmp.Diff(want, describe(parametersOf(t, x), "")); diff != "" {
			t.Errorf("%s:\n%s", x.Name, diff)
		}
	}
	for name, parameters := range vendors {
		if parameters != nil && !offered[name] {
			t.Errorf("%s is missing", name)
		}
	}
}

// describe returns a schema in the form of the table.
func describe(s schema, prefix string) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		kind, _ := p.Type.(string)
		if p.Items != nil {
			of, _ := p.Items.Type.(string)
			kind += "<" + of + ">"
		}
		text := prefix + name + " " + kind
		if slices.Contains(s.Required, name) {
			text += "!"
		}
		if p.Minimum != nil {
			text += " >=" + string(rune('0'+int(*p.Minimum)))
		}
		list = append(append(list, text), describe(p, prefix+name+".")...)
	}
	return list
}
