package ext

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// SkillToolName is the name of the tool that loads skills, in all profiles and dialects.
const SkillToolName = "skill"

// DefaultListing limits the bytes of the list of skills in the system prompt.
const DefaultListing = 8 << 10

// maxSkillText limits how much of a skill's text a model gets, in characters. The rest is in the
// file.
const maxSkillText = 60_000

// skillArguments holds the arguments of the tool.
type skillArguments struct {
	Name string `json:"name" jsonschema:"The skill's name, from the list in the system prompt."`
}

// LoadedSkill describes a skill that a call has loaded, for programs.
type LoadedSkill struct {
	Name  string   `json:"name"`
	Dir   string   `json:"dir,omitempty"`
	Files []string `json:"files,omitempty"` // relative to Dir, without SKILL.md
}

// SkillTool returns the tool with which a model loads those of the skills that it may use. Its
// guidance lists them in at most budget bytes for the system prompt; shortened reports what of the
// list is missing, or "". The definition does not depend on the skills, so that other skills do not
// change a session's requests.
func SkillTool(skills []*Skill, budget int) (t tool.Tool, shortened string) {
	var mine []*Skill
	for _, s := range skills {
		if s.ForModel {
			mine = append(mine, s)
		}
	}
	t = tool.New(llm.ToolDefinition{Name: SkillToolName,
		Description: "Loads a skill: instructions for a kind of task, and the names of the files that " +
			"they use. The system prompt lists the skills. Load the skill that fits a task before you begin, and " +
			"follow it."},
		func(_ context.Context, _ *tool.Call, args skillArguments) (tool.Result, error) {
			return load(skills, args.Name), nil
		})
	t = tool.WithAccess(t,
		func(args skillArguments) tool.Access { return tool.Access{Effect: tool.ReadOnly, About: args.Name} })
	t.Limit = tool.Limit{Chars: maxSkillText, Keep: tool.KeepHead}
	t.Instead = []tool.Instead{{Of: []string{"activate_skill", "load_skill", "use_skill"}}}
	list, shortened := listing(mine, budget)
	t.Guidance = "A skill has instructions for a kind of task. If the description of one fits what you are to do, " +
		"load it with this tool first and follow it. If a summary has replaced its text, load it again. The " +
		"skills:\n" + list
	return t, shortened
}

// load returns the result of loading a skill. The name has to be exact, because rules have compared
// it with theirs.
func load(skills []*Skill, name string) tool.Result {
	var known []string
	for _, s := range skills {
		switch {
		case s.Name == name && !s.ForModel:
			return tool.Errorf("Only the user can use the skill %s, by /%s.", name, name)
		case s.Name == name:
			return s.loaded()
		case s.ForModel:
			known = append(known, s.Name)
		}
	}
	hint := "The skills are: " + strings.Join(known[:min(len(known), 100)], ", ")
	if near := texts.Near(name, known); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return tool.Errorf("There is no skill %s. %s", shown(name), hint)
}

// loaded returns the result with the text of a skill.
func (s *Skill) loaded() tool.Result {
	files := s.files()
	result := tool.Text(s.text(files))
	if s.Dir != "" {
		result.Hint = fmt.Sprintf("The rest is in the file SKILL.md in %s.", texts.Shown(s.Dir))
	}
	if data, err := json.Marshal(LoadedSkill{s.Name, s.Dir, files.list}); err == nil {
		result.Structured = data
	}
	return result
}

// listing returns a line for each skill, together at most budget bytes, and says what is missing.
// Descriptions are cut to the same length, the longest first; if there is no room for any, the last
// skills are left out.
func listing(skills []*Skill, budget int) (list, shortened string) {
	skills = slices.Clone(skills)
	slices.SortFunc(skills, func(a, b *Skill) int { return strings.Compare(a.Name, b.Name) })
	length, n := fitting(skills, budget), len(skills)
	if sizeWith(skills, 0) > budget {
		for n > 0 && sizeWith(skills[:n], 0)+len(moreSkills)+2 > budget { // the number has up to four digits
			n--
		}
	}
	var b strings.Builder
	for _, s := range skills[:n] {
		b.WriteString(s.line(length))
	}
	switch {
	case n < len(skills):
		fmt.Fprintf(&b, moreSkills, len(skills)-n)
		var missing []string
		for _, s := range skills[n:] {
			missing = append(missing, s.Name)
		}
		shortened = "it has no descriptions, and not these skills: " + texts.SomeNames(missing)
	case length == 0:
		shortened = "it has no descriptions"
	case length < maxDescription:
		shortened = fmt.Sprintf("descriptions are cut after %d characters", length)
	default:
		return b.String(), ""
	}
	return b.String(), fmt.Sprintf("the list of %d skills does not fit into %d bytes, so %s", len(skills), budget,
		shortened)
}

// moreSkills is the line of a list that has not all skills.
const moreSkills = "  - and %d more\n"

// fitting returns the length of descriptions with which the lines of skills fit into a budget of
// bytes, or 0 if only descriptions that say nothing fit.
func fitting(skills []*Skill, budget int) int {
	const least = 20
	length := sort.Search(maxDescription, func(n int) bool { return sizeWith(skills, n+1) > budget })
	if length < least {
		return 0
	}
	return length
}

// sizeWith returns the bytes of the lines of skills whose descriptions have at most n characters.
func sizeWith(skills []*Skill, n int) (size int) {
	for _, s := range skills {
		size += len(s.line(n))
	}
	return size
}

// line returns the line of a skill in the list, with at most n characters of its description.
func (s *Skill) line(n int) string {
	if n <= 0 || s.Description == "" {
		return "  - `" + s.Name + "`\n"
	}
	return "  - `" + s.Name + "`: " + cut(s.Description, n) + "\n"
}
