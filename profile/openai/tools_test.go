package openai_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/openai"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

func dialects() map[string]profile.Profile {
	return map[string]profile.Profile{"own": openai.Profile(), "native": openai.Native()}
}

func names(p profile.Profile) []string {
	var all []string
	for _, t := range p.Tools {
		all = append(all, t.Name)
	}
	return all
}

func TestE1_Tools(t *testing.T) {
	want := strings.Fields("read_file apply_patch write_file shell grep glob read_output process update_plan " +
		"ask_user spawn_agent send_input wait close_agent")
	p := openai.Profile()
	if diff := cmp.Diff(want, names(p)); diff != "" {
		t.Error(diff)
	}
	for _, tl := range p.Tools {
		if tl.Name == "shell" && !strings.Contains(tl.Description, "10000 ms") {
			t.Errorf("shell's default is another: %s", tl.Description)
		}
	}
}

func TestE3_DefaultModelIsTheNewest(t *testing.T) {
	latest, _ := catalog.New().Latest("openai", "reasoning", "image")
	if latest.ID != openai.DefaultModel {
		t.Errorf("the default is %s, the newest %s", openai.DefaultModel, latest.ID)
	}
	for name, p := range dialects() {
		if p.Model != openai.DefaultModel || p.Provider != "openai" || p.Sequential ||
			!slices.Equal(p.Documents, []string{".codex/instructions.md"}) {
			t.Errorf("%s: %+v", name, p)
		}
		p.Documents[0], p.Tools[0].Name, p.Options[0] = "", "", ' '
	}
	for name, p := range dialects() {
		if p.Documents[0] == "" || p.Tools[0].Name == "" || !json.Valid(p.Options) {
			t.Errorf("%s: callers share one value", name)
		}
	}
}

// native holds the tools that codex 0.169 sends for gpt-5.5: the parameters with their types, and a
// question mark after optional ones.
var native = map[string][]string{
	"exec_command": {"cmd string", "justification? string", "login? boolean", "max_output_tokens? number",
		"prefix_rule? array<string>",
		"sandbox_permissions? string [use_default require_escalated]", "shell? string", "tty? boolean",
		"workdir? string", "yield_time_ms? number"},
	"write_stdin": {"chars? string", "max_output_tokens? number", "session_id number", "yield_time_ms? number"},
	"request_user_input": {"questions array<object>", "questions[].header string", "questions[].id string",
		"questions[].options array<object>",
		"questions[].options[].description string", "questions[].options[].label string",
		"questions[].question string"},
	"apply_patch": nil, // free-form
	"view_image":  {"path string"},
	"update_plan": {"explanation? string", "plan array<object>", "plan[].status string", "plan[].step string"},
}

// ownTools returns the tools that are this project's own in every dialect.
func ownTools() []string {
	all := []string{"read_output"}
	for _, t := range coding.Agents() {
		all = append(all, t.Name)
	}
	return all
}

func TestE2_NativeToolsAreThoseOfTheWire(t *testing.T) {
	got := map[string][]string{}
	for _, tl := range openai.Native().Tools {
		if slices.Contains(ownTools(), tl.Name) {
			continue
		}
		got[tl.Name] = parametersOf(t, tl)
		if free := tl.Grammar != nil; free != (tl.Name == "apply_patch") {
			t.Errorf("%s: free-form is %v", tl.Name, free)
		}
	}
	if diff := cmp.Diff(native, got); diff != "" {
		t.Errorf("-wire +ours:\n%s", diff)
	}
}

type schema struct {
	Type       any
	Properties map[string]schema
	Required   []string
	Items      *schema
	Enum       []string
	Additional any `json:"additionalProperties"`
}

func parametersOf(t *testing.T, tl tool.Tool) []string {
	t.Helper()
	if tl.Parameters == nil {
		return nil
	}
	var root schema
	if err := json.Unmarshal(tl.Parameters, &root); err != nil {
		t.Fatal(err)
	}
	if _, err := tool.NewRegistry(tl); err != nil {
		t.Error(err)
	}
	var all []string
	root.list(t, "", &all)
	slices.Sort(all)
	return all
}

func (s schema) list(t *testing.T, at string, all *[]string) {
	t.Helper()
	if s.Additional == nil || fmt.Sprint(s.Additional) == "true" {
		t.Errorf("%q takes additional properties", at)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		line := at + name
		if !slices.Contains(s.Required, name) {
			line += "?"
		}
		line += " " + p.kind()
		if p.Enum != nil {
			line += fmt.Sprintf(" %v", p.Enum)
		}
		*all = append(*all, line)
		if p.Items != nil && p.Items.Properties != nil {
			p.Items.list(t, at+name+"[].", all)
		}
	}
}

// kind returns a type's name. null is ignored: Go's slices may be null.
func (s schema) kind() string {
	kind := fmt.Sprint(s.Type)
	if kinds, ok := s.Type.([]any); ok {
		kind = fmt.Sprint(slices.DeleteFunc(kinds, func(k any) bool { return k == "null" })[0])
	}
	if s.Items != nil {
		kind += "<" + s.Items.kind() + ">"
	}
	return kind
}

// words holds what a prompt may have in backquotes beside tools and parameters.
var words = []string{"cd", "rg", "rg --files"}

func TestE3_PromptPromisesNoAbsentTool(t *testing.T) {
	for name, p := range dialects() {
		if strings.Contains(p.Prompt, "{{") || !strings.Contains(p.Prompt, "# Editing") {
			t.Errorf("%s: the prompt has %d bytes, or a part is missing", name, len(p.Prompt))
		}
		known := append(slices.Clone(words), names(p)...)
		for _, tl := range p.Tools {
			for _, param := range parametersOf(t, tl) {
				known = append(known, strings.TrimSuffix(strings.Fields(param)[0], "?"))
			}
		}
		quoted := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(p.Prompt, -1)
		if len(quoted) < 10 {
			t.Errorf("%s: only %d names in backticks", name, len(quoted))
		}
		for _, q := range quoted {
			if !slices.Contains(known, q[1]) {
				t.Errorf("%s: %q is neither a tool nor a parameter", name, q[1])
			}
		}
		for _, other := range dialects() { // also without backquotes, if the name is not an English word
			for _, tl := range other.Tools {
				if strings.Contains(tl.Name, "_") && strings.Contains(p.Prompt, tl.Name) &&
					!slices.Contains(names(p), tl.Name) {
					t.Errorf("%s: speaks of %s", name, tl.Name)
				}
			}
		}
	}
}
